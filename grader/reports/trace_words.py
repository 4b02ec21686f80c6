"""The accesses of a trace in words, for the drawing in a terminal and for the page."""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import TypeVar

from grader.model import (
    Access,
    Array,
    Launch,
    Trace,
    index_of,
    last_writes,
    place,
    size,
    step_count,
    unordered_accesses,
)

T = TypeVar("T")

ALL_WELL = "In this case every access is in bounds and every answer is right."
MORE_CASES = "`grader check` tries many other cases."

MOST_TOLD = 2  # sentences of one kind; the thousandth says no more than the first
ROLES = {
    "in": "input",
    "out": "output",
    "inout": "input and output",
    "scratch": "working memory",
    "shared": "shared memory",
}
VERBS = {"read": "reads", "write": "writes", "update": "updates"}
# What went wrong, in the order in which it is told, and what its mark means.
MEANINGS = {
    "out_of_bounds": "outside the array",
    "race": "a race: two threads touch this element and nothing orders them",
    "uninitialised": "read before anything was written there",
    "from_end": "an index below 0, which counts from the end",
    "wrong": "a wrong value",
    "unwritten": "never written",
}
MARKS = {
    "out_of_bounds": "»",
    "race": "!",
    "uninitialised": "?",
    "from_end": "«",
    "wrong": "✘",
    "unwritten": "○",
}


def launched(launch: Launch) -> str:
    """Such as `2 blocks of 4 × 4 threads`."""
    blocks = "1 block" if prod(launch.grid) == 1 else f"{_extent(launch.grid)} blocks"
    threads = "1 thread" if prod(launch.block) == 1 else f"{_extent(launch.block)} threads"
    return f"{blocks} of {threads}"


def step_words(trace: Trace, launch: int, step: int) -> str:
    """Where a step lies between the barriers of its launch.

    Pictures call a step a part: kernels have loops with a variable `step`, and graders steps.
    """
    last = step_count(trace, launch) - 1
    if last <= 0:
        return "no barrier"
    if step == 0:
        return "before the first barrier" if last > 1 else "before the barrier"
    if step == last:
        return "after the last barrier" if last > 1 else "after the barrier"
    return f"between barriers {step} and {step + 1}"


def numbered(count: int, dims: tuple[int, int, int], separator: str = ", ") -> str:
    """A thread's or a block's index: `3` where it lies on a line, else `1, 0` for x = 1, y = 0."""
    axes = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
    return separator.join(map(str, place(count, dims)[:axes]))


def thread_name(launch: Launch, block: int, thread: int) -> str:
    """`thread 5`, `thread 5 of block 1`, or `thread (1, 0) of block (0, 2)`."""
    name = f"thread {_in_brackets(numbered(thread, launch.block))}"
    if prod(launch.grid) == 1:
        return name
    return f"{name} of block {_in_brackets(numbered(block, launch.grid))}"


def element_name(array: Array, index: tuple[int, ...]) -> str:
    """`x[12]` or `a[1, 0]`, and `x[()]` where there is no dimension."""
    return f"{array.name}[{', '.join(map(str, index)) or '()'}]"


def touching(trace: Trace, access: Access) -> str:
    """`thread 5 of block 1 reads x[3]`."""
    launch, array = trace.launches[access.launch], trace.arrays[access.array]
    index = access.index if access.element is None else index_of(access.element, array.shape)
    who = thread_name(launch, access.block, access.thread)
    return f"{who} {VERBS[access.kind]} {element_name(array, index)}"


def told(trace: Trace, access: Access) -> str:
    """One access as a sentence without a full stop: who, what, what is wrong, which line."""
    match access.fault:
        case "out_of_bounds":
            why = f", where {_extent_of(trace.arrays[access.array])}"
        case "uninitialised":
            why = " before any thread has written it"
        case "from_end":
            why = " by an index below 0, which counts from the end"
        case "race":
            why = _racing(trace, access)
        case _:
            why = ""
    return f"{touching(trace, access)}{why}{_line(access)}"


def problems(trace: Trace) -> list[tuple[str, str, Access | None]]:
    """All that went wrong: its kind (a key of MEANINGS), a sentence, the access that did it.

    Of each kind the first few, and then how many others there are.
    """
    found: list[tuple[str, str, Access | None]] = []
    for kind in MEANINGS:
        match kind:
            case "wrong":
                some, count = _wrong(trace)
            case "unwritten":
                some, count = _unwritten(trace)
            case _:
                faulty = _faulty(trace, kind)
                some, count = [(told(trace, one), one) for one in _few(faulty)], len(faulty)
        found += [(kind, sentence, access) for sentence, access in some]
        if count > len(some):
            found.append((kind, f"and {count - len(some):,} more", None))
    return found


def _few(some: list[T]) -> list[T]:
    """The first MOST_TOLD; all, when a line that says `and 1 more` would be as long."""
    return some if len(some) <= MOST_TOLD + 1 else some[:MOST_TOLD]


def _wrong(trace: Trace) -> tuple[list[tuple[str, Access | None]], int]:
    wrong = [(array, each) for array in trace.arrays for each in trace.wrong.get(array.name, ())]
    some: list[tuple[str, Access | None]] = []
    for array, each in _few(wrong):
        what = element_name(array, index_of(each.element, array.shape))
        writer = last_writes(trace, array.name).get(each.element)
        by = f", written by {_who(trace, writer)}{_line(writer)}" if writer else ""
        some.append((f"{what} is {each.got} and should be {each.expected}{by}", writer))
    return some, len(wrong)


def _unwritten(trace: Trace) -> tuple[list[tuple[str, Access | None]], int]:
    """Neighbours are told of in one sentence, and counted as one."""
    runs = [
        (array, run) for array in trace.arrays for run in _runs(trace.unwritten.get(array.name, ()))
    ]
    some: list[tuple[str, Access | None]] = []
    for array, run in _few(runs):
        writer = last_writes(trace, array.name).get(run[0])
        if writer:  # such as by +=, for what an output begins as stays whatever is added to it
            what = element_name(array, index_of(run[0], array.shape))
            told = f"{what} holds what it began with, although {_who(trace, writer)} writes to it"
            some.append((f"{told}{_line(writer)}", writer))
        else:
            some.append((f"{_run(array, run)} never written", None))
    return some, len(runs)


def _faulty(trace: Trace, kind: str) -> list[Access]:
    """The accesses with this fault, but only the first one of those that race for an element."""
    faulty = [access for access in trace.accesses if access.fault == kind]
    if kind != "race":
        return faulty
    first: dict[tuple[int, int, int | None, int], Access] = {}
    for access in faulty:
        shared = trace.arrays[access.array].space == "shared"
        block = access.block if shared else -1
        first.setdefault((access.launch, access.array, access.element, block), access)
    return list(first.values())


def _racing(trace: Trace, access: Access) -> str:
    others = unordered_accesses(trace, access)
    if not others:
        return ", and nothing orders it with what another thread does there"
    other = others[0]
    whom = {(each.block, each.thread) for each in others}
    more = f" (and {len(whom) - 1:,} more do)" if len(whom) > 1 else ""
    why = (
        "no barrier stands between them"
        if other.block == access.block
        else "nothing orders two blocks"
    )
    does = f"{_who(trace, other)} {VERBS[other.kind]}{_line(other, ' in line ')}"
    return f", which {does}{more}; {why}"


def _who(trace: Trace, access: Access) -> str:
    return thread_name(trace.launches[access.launch], access.block, access.thread)


def _line(access: Access, before: str = ": line ") -> str:
    return "" if access.line is None else f"{before}{access.line}"


def _in_brackets(index: str) -> str:
    return f"({index})" if "," in index else index


def _extent(dims: tuple[int, int, int]) -> str:
    axes = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
    return " × ".join(str(extent) for extent in dims[:axes])


def _extent_of(array: Array) -> str:
    """`x has 12 elements, 0 to 11`, or `a has 4 × 3 elements, up to a[3, 2]`."""
    if len(array.shape) > 1:
        extent = " × ".join(map(str, array.shape))
        last = f", up to {element_name(array, tuple(n - 1 for n in array.shape))}"
        return f"{array.name} has {extent} elements{last if size(array) else ''}"
    if size(array) <= 1:
        return f"{array.name} has {f'1 element, {array.name}[0]' if size(array) else 'no elements'}"
    return f"{array.name} has {size(array):,} elements, 0 to {size(array) - 1}"


def _runs(elements: tuple[int, ...]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive elements."""
    runs = []
    pairs = enumerate(sorted(set(elements)))
    for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0]):
        run = [element for _, element in group]
        runs.append((run[0], run[-1]))
    return runs


def _run(array: Array, run: tuple[int, int]) -> str:
    first, last = (element_name(array, index_of(element, array.shape)) for element in run)
    return f"{first} was" if first == last else f"{first} to {last} were"
