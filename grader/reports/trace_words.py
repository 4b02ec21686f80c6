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

ALL_WELL = "In this case every access is in bounds and every output is right."
MORE_CASES = "`grader check` tries many other cases."

MOST_SENTENCES = 2  # of one kind; the thousandth says no more than the first
ROLES = {
    "in": "input",
    "out": "output",
    "inout": "input and output",
    "scratch": "working memory",
    "shared": "shared memory",
}
VERBS = {"read": "reads", "write": "writes", "update": "updates"}
# Kinds of faults, in the order of their sentences, and the meanings of their marks.
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
    """Write `2 blocks of 4 × 4 threads`."""
    blocks = "1 block" if prod(launch.grid) == 1 else f"{_extent(launch.grid)} blocks"
    threads = "1 thread" if prod(launch.block) == 1 else f"{_extent(launch.block)} threads"
    return f"{blocks} of {threads}"


def step_words(trace: Trace, launch: int, step: int) -> str:
    """Say where a step lies between the barriers of its launch.

    Drawings call a step a part, because `step` has other meanings in kernels and in the grader.
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
    """Write the index of a thread or block: `3` in one dimension, else `1, 0` for x = 1, y = 0."""
    axes = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
    return separator.join(map(str, place(count, dims)[:axes]))


def thread_name(launch: Launch, block: int, thread: int) -> str:
    """Write `thread 5`, `thread 5 of block 1`, or `thread (1, 0) of block (0, 2)`."""
    name = f"thread {_in_brackets(numbered(thread, launch.block))}"
    if prod(launch.grid) == 1:
        return name
    return f"{name} of block {_in_brackets(numbered(block, launch.grid))}"


def element_name(array: Array, index: tuple[int, ...]) -> str:
    """Write `x[12]` or `a[1, 0]`, and `x[()]` without a dimension."""
    return f"{array.name}[{', '.join(map(str, index)) or '()'}]"


def touching(trace: Trace, access: Access) -> str:
    launch, array = trace.launches[access.launch], trace.arrays[access.array]
    index = access.index if access.element is None else index_of(access.element, array.shape)
    thread = thread_name(launch, access.block, access.thread)
    return f"{thread} {VERBS[access.kind]} {element_name(array, index)}"


def sentence_of(trace: Trace, access: Access) -> str:
    """Describe one access without a full stop: the thread, the element, the fault, the line."""
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
    """Return all faults: the kind (a key of MEANINGS), a sentence, and the access to blame.

    Of each kind return the first few, and then the number of the others.
    """
    listed: list[tuple[str, str, Access | None]] = []
    for kind in MEANINGS:
        match kind:
            case "wrong":
                some, count = _wrong(trace)
            case "unwritten":
                some, count = _unwritten(trace)
            case _:
                faulty = _faulty(trace, kind)
                some, count = [(sentence_of(trace, one), one) for one in _few(faulty)], len(faulty)
        listed += [(kind, sentence, access) for sentence, access in some]
        if count > len(some):
            listed.append((kind, f"and {count - len(some):,} more", None))
    return listed


def _few(some: list[T]) -> list[T]:
    """Return the first MOST_SENTENCES, or all if only one more is left."""
    return some if len(some) <= MOST_SENTENCES + 1 else some[:MOST_SENTENCES]


def _wrong(trace: Trace) -> tuple[list[tuple[str, Access | None]], int]:
    wrong = [(array, each) for array in trace.arrays for each in trace.wrong.get(array.name, ())]
    some: list[tuple[str, Access | None]] = []
    for array, each in _few(wrong):
        what = element_name(array, index_of(each.element, array.shape))
        writer = last_writes(trace, array.name).get(each.element)
        by = f", written by {_thread_of(trace, writer)}{_line(writer)}" if writer else ""
        some.append((f"{what} is {each.got} and should be {each.expected}{by}", writer))
    return some, len(wrong)


def _unwritten(trace: Trace) -> tuple[list[tuple[str, Access | None]], int]:
    """Return one sentence for each run of neighbours, and the number of runs."""
    runs = [
        (array, run)
        for array in trace.arrays
        for run in _consecutive_runs(trace.unwritten.get(array.name, ()))
    ]
    some: list[tuple[str, Access | None]] = []
    for array, run in _few(runs):
        writer = last_writes(trace, array.name).get(run[0])
        if writer:  # such as by +=: an output begins as a value that additions do not change
            what = element_name(array, index_of(run[0], array.shape))
            words = f"{what} still has its first value, although {_thread_of(trace, writer)}"
            some.append((f"{words} writes to it{_line(writer)}", writer))
        else:
            some.append((f"{_run(array, run)} never written", None))
    return some, len(runs)


def _faulty(trace: Trace, kind: str) -> list[Access]:
    """Return the accesses with this fault; of those that race for an element, only the first."""
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
        return ", and nothing orders it with another thread's access there"
    other = others[0]
    threads = {(each.block, each.thread) for each in others}
    more = f" (and {len(threads) - 1:,} more do)" if len(threads) > 1 else ""
    why = (
        "no barrier lies between them"
        if other.block == access.block
        else "nothing orders two blocks"
    )
    does = f"{_thread_of(trace, other)} {VERBS[other.kind]}{_line(other, ' in line ')}"
    return f", which {does}{more}; {why}"


def _thread_of(trace: Trace, access: Access) -> str:
    return thread_name(trace.launches[access.launch], access.block, access.thread)


def _line(access: Access, before: str = ": line ") -> str:
    return "" if access.line is None else f"{before}{access.line}"


def _in_brackets(index: str) -> str:
    return f"({index})" if "," in index else index


def _extent(dims: tuple[int, int, int]) -> str:
    axes = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
    return " × ".join(str(extent) for extent in dims[:axes])


def _extent_of(array: Array) -> str:
    """Write `x has 12 elements, 0 to 11`, or `a has 4 × 3 elements, up to a[3, 2]`."""
    if len(array.shape) > 1:
        extent = " × ".join(map(str, array.shape))
        last = f", up to {element_name(array, tuple(n - 1 for n in array.shape))}"
        return f"{array.name} has {extent} elements{last if size(array) else ''}"
    if size(array) <= 1:
        return f"{array.name} has {f'1 element, {array.name}[0]' if size(array) else 'no elements'}"
    return f"{array.name} has {size(array):,} elements, 0 to {size(array) - 1}"


def _consecutive_runs(elements: tuple[int, ...]) -> list[tuple[int, int]]:
    runs = []
    pairs = enumerate(sorted(set(elements)))
    for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0]):
        run = [element for _, element in group]
        runs.append((run[0], run[-1]))
    return runs


def _run(array: Array, run: tuple[int, int]) -> str:
    first, last = (element_name(array, index_of(element, array.shape)) for element in run)
    return f"{first} was" if first == last else f"{first} to {last} were"
