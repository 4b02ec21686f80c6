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
CUT = {
    "threads": "only the first ones of this case were recorded",
    "lanes": "parts of long blocks and of large grids",
}
MORE_CASES = "`grader check` tries many other cases."

MOST_NAMED = 3  # lines that never ran
MOST_SENTENCES = 2  # of one kind; the thousandth says no more than the first
ROLES = {
    "in": "input",
    "out": "output",
    "inout": "input and output",
    "scratch": "scratch",
    "shared": "shared memory",
}
VERBS = {"read": "reads", "write": "writes", "update": "updates"}
# Kinds of faults, in the order of their sentences, and the meanings of their marks.
MEANINGS = {
    "out_of_bounds": "outside the array",
    "race": "a race: two threads touch this element and nothing orders them",
    "uninitialised": "read before anything was written there",
    "from_end": "an index below 0, which counts from the end",
    "undefined": "a value that no load defined",
    "wrong": "a wrong value",
    "unwritten": "never written",
    "never_ran": "never ran",
}
MARKS = {
    "out_of_bounds": "»",
    "race": "!",
    "uninitialised": "?",
    "from_end": "«",
    "undefined": "∅",
    "wrong": "✘",
    "unwritten": "○",
    "never_ran": "⊘",
}


def meaning(trace: Trace, kind: str) -> str:
    """Return what a mark of this kind says, in the words for who acts."""
    who = "two threads"
    if trace.unit == "lanes":
        alone = kind == "race" and all(prod(each.grid) == 1 for each in trace.launches)
        who = "two lanes" if alone else "two programs"
    return MEANINGS[kind].replace("two threads", who)


def launched(launch: Launch) -> str:
    """Write `2 blocks of 4 × 4 threads`, or `2 × 3 programs`."""
    if launch.parts:
        return "1 program" if prod(launch.grid) == 1 else f"{_extent(launch.grid)} programs"
    blocks = "1 block" if prod(launch.grid) == 1 else f"{_extent(launch.grid)} blocks"
    threads = "1 thread" if prod(launch.block) == 1 else f"{_extent(launch.block)} threads"
    return f"{blocks} of {threads}"


def step_words(trace: Trace, launch: int, step: int) -> str:
    """Say where a step lies between the barriers of its launch.

    Drawings call a step a part, because `step` has other meanings in kernels and in the grader.
    """
    if trace.unit == "lanes":
        return part_words(trace, launch, step)
    last = step_count(trace, launch) - 1
    if last <= 0:
        return "no barrier"
    if step == 0:
        return "before the first barrier" if last > 1 else "before the barrier"
    if step == last:
        return "after the last barrier" if last > 1 else "after the barrier"
    return f"between barriers {step} and {step + 1}"


def part_words(trace: Trace, launch: int, step: int) -> str:
    """Say in which turns of loops the programs are; turns are counted from 1."""
    parts = trace.launches[launch].parts
    loops = parts[step].loops
    if not loops:
        before, after = (
            any(part.loops for part in parts[:step]),
            any(part.loops for part in parts[step + 1 :]),
        )
        return (
            "between two loops"
            if before and after
            else "after the loop"
            if before
            else "before the loop"
            if after
            else "no loop"
        )
    turns = []
    for depth, loop in enumerate(loops):
        around = loops[:depth]
        count = 1 + max(
            part.loops[depth].turn
            for part in parts
            if part.loops[:depth] == around
            and len(part.loops) > depth
            and part.loops[depth].line == loop.line
        )
        where = f" in line {loop.line}" if loop.line else ""
        turns.append(f"turn {loop.turn + 1} of {count} of the loop{where}")
    return ", ".join(turns)


def program_name(launch: Launch, block: int) -> str:
    return f"program {_in_brackets(numbered(block, launch.grid))}"


def numbered(count: int, dims: tuple[int, int, int], separator: str = ", ") -> str:
    """Write the index of a thread or block: `3` in one dimension, else `1, 0` for x = 1, y = 0."""
    axes = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
    return separator.join(map(str, place(count, dims)[:axes]))


def thread_name(launch: Launch, block: int, thread: int) -> str:
    """Write `thread 5`, `thread 5 of block 1`, or `thread (1, 0) of block (0, 2)`.

    In a launch of programs, write `lane 5 of program 1`.
    """
    if launch.parts:
        return f"lane {thread} of {program_name(launch, block)}"
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
            who = (
                "anything was written there"
                if trace.unit == "lanes"
                else "any thread has written it"
            )
            why = f" before {who}"
        case "undefined":
            why = ", and the value is one that no load defined"
        case "from_end":
            why = " by an index below 0, which counts from the end"
        case "race":
            why = _racing(trace, access)
        case _:
            why = ""
    return f"{touching(trace, access)}{why}{_line(access)}"


def problems(trace: Trace, most: int | None = None) -> list[tuple[str, str, Access | None]]:
    """Return all faults: the kind (a key of MEANINGS), a sentence, and the access to blame.

    Of each kind return the first ones, about `most`, and then the number of the others.
    """
    most = MOST_SENTENCES if most is None else most
    listed: list[tuple[str, str, Access | None]] = []
    for kind in MEANINGS:
        match kind:
            case "wrong":
                some, count = _wrong(trace, most)
            case "unwritten":
                some, count = _unwritten(trace, most)
            case "never_ran":
                some, count = _never_ran(trace), 0
            case _:
                faulty = _faulty(trace, kind)
                some, count = (
                    [(sentence_of(trace, one), one) for one in _few(faulty, most)],
                    len(faulty),
                )
        listed += [(kind, sentence, access) for sentence, access in some]
        if count > len(some):
            listed.append((kind, f"and {count - len(some):,} more", None))
    return listed


def _few(some: list[T], most: int) -> list[T]:
    """Return the first `most`, or all if only one more is left that takes no more space."""
    return some if len(some) <= most + (most > 1) else some[:most]


def _wrong(trace: Trace, most: int) -> tuple[list[tuple[str, Access | None]], int]:
    wrong = [(array, each) for array in trace.arrays for each in trace.wrong.get(array.name, ())]
    some: list[tuple[str, Access | None]] = []
    for array, each in _few(wrong, most):
        what = element_name(array, index_of(each.element, array.shape))
        writer = last_writes(trace, array.name).get(each.element)
        by = f", written by {_thread_of(trace, writer)}{_line(writer)}" if writer else ""
        some.append((f"{what} is {each.got} and should be {each.expected}{by}", writer))
    return some, len(wrong)


def _unwritten(trace: Trace, most: int) -> tuple[list[tuple[str, Access | None]], int]:
    """Return one sentence for each run of neighbours, and the number of runs."""
    runs = [
        (array, run)
        for array in trace.arrays
        for run in _consecutive_runs(trace.unwritten.get(array.name, ()))
    ]
    some: list[tuple[str, Access | None]] = []
    for array, run in _few(runs, most):
        writer = last_writes(trace, array.name).get(run[0])
        if writer:  # such as by +=: an output begins as a value that additions do not change
            what = element_name(array, index_of(run[0], array.shape))
            words = f"{what} still has its first value, although {_thread_of(trace, writer)}"
            some.append((f"{words} writes to it{_line(writer)}", writer))
        else:
            some.append((f"{_run(array, run)} never written", None))
    return some, len(runs)


def _never_ran(trace: Trace) -> list[tuple[str, Access | None]]:
    stop = trace.stopped
    if stop is None:
        return []
    launch = trace.launches[stop.launch]
    if trace.unit == "lanes":
        lines = sorted({trace.operations[n].line or 0 for n in stop.operations} - {0})
        places = [f"line {line}" for line in lines[:MOST_NAMED]]
        more = [f"{len(lines) - MOST_NAMED} more"] if len(lines) > MOST_NAMED else []
        what = [*places, *more]
    else:
        what = []
        if stop.threads:
            of = f" of block {numbered(stop.block, launch.grid)}" if prod(launch.grid) > 1 else ""
            what.append(_some("thread", stop.threads, launch.block) + of)
        if stop.blocks:
            what.append(_some("block", stop.blocks, launch.grid))
    if not what:
        return []
    return [(f"never ran, because the error ended the simulation: {', '.join(what)}", None)]


def _some(noun: str, numbers: tuple[int, ...], dims: tuple[int, int, int]) -> str:
    """Write `thread 5`, `threads 5 to 7`, or `3 threads from (1, 0) on`."""
    if len(numbers) == 1:
        return f"{noun} {_in_brackets(numbered(numbers[0], dims))}"
    low, high = min(numbers), max(numbers)
    flat = dims[1] == dims[2] == 1
    if flat and high - low + 1 == len(numbers):
        return f"{noun}s {low} to {high}"
    return f"{len(numbers)} {noun}s, such as {_in_brackets(numbered(numbers[0], dims))}"


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
        else f"nothing orders two {'programs' if trace.unit == 'lanes' else 'blocks'}"
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
