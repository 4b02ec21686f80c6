"""The short names of threads in the boxes of a drawing, and their legend."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from rich.text import Text

from grader.model import Access, Array, Trace
from grader.reports.layout import filled
from grader.reports.trace_boxes import BAD, FAINT, Cell, Space, all_fit
from grader.reports.trace_words import MARKS, meaning, numbered, problems

MOST_NAMED = 3  # threads in one box
BLOCKS = ("cyan", "yellow", "magenta", "blue", "green")  # colours, taken in turn


def cells_of(
    trace: Trace, array: Array, by_element: Mapping[int, Sequence[Access]], space: Space, unit: int
) -> dict[int, Cell]:
    """Return boxes with all names, if the array still fits, else with short ones."""
    full = {element: cell_of(trace, some) for element, some in by_element.items()}
    if all_fit(array, full, space, unit):
        return full
    return {element: cell_of(trace, some, short=True) for element, some in by_element.items()}


def cell_of(trace: Trace, accesses: Sequence[Access], short: bool = False) -> Cell:
    launch = trace.launches[accesses[0].launch]
    blocks = {access.block for access in accesses}
    faults = [kind for kind in MARKS if kind in {access.fault for access in accesses}]
    label = (_label_of_lanes if trace.unit == "lanes" else _label)(trace, accesses, short)
    value = brief_value(next((each.value for each in reversed(accesses) if each.value), ""))
    if faults:
        return Cell(f"{label} {''.join(MARKS[kind] for kind in faults)}", BAD, value=value)
    if prod(launch.grid) == 1 or len(blocks) > 1:
        return Cell(label, value=value)
    return Cell(label, BLOCKS[min(blocks) % len(BLOCKS)], value=value)


def brief_value(value: str) -> str:
    """Shorten a number to four digits that count; leave whole ones and words as they are."""
    try:
        number = float(value)
    except ValueError:
        return value
    whole = re.fullmatch(r"-?\d{1,7}", value)
    return value if whole else f"{number:.4g}"


def _label_of_lanes(trace: Trace, accesses: Sequence[Access], short: bool) -> str:
    launch = trace.launches[accesses[0].launch]
    if prod(launch.grid) == 1:
        lanes = sorted({access.thread for access in accesses})
        first = f"l{lanes[0]}"
        return first if len(lanes) == 1 else f"{first} …"
    faulty = sorted({access.block for access in accesses if access.fault})
    programs = [*faulty, *sorted({access.block for access in accesses} - set(faulty))]
    names = [f"p{numbered(program, launch.grid, ',')}" for program in programs]
    if len(names) == 1:
        return names[0]
    if len(names) == prod(launch.grid) and not faulty and len(names) > MOST_NAMED:
        return "all"
    all_named = len(names) <= MOST_NAMED and not short and launch.grid[1] == launch.grid[2] == 1
    return ",".join(names) if all_named else f"{names[0]} …"


def _label(trace: Trace, accesses: Sequence[Access], short: bool) -> str:
    """Name the threads, those with a fault first; `short` names one and omits the others."""
    launch = trace.launches[accesses[0].launch]
    on_a_line = launch.block[1] == launch.block[2] == 1
    faulty = {(access.block, access.thread) for access in accesses if access.fault}
    others = {(access.block, access.thread) for access in accesses} - faulty
    threads = [*sorted(faulty), *sorted(others)]
    block, thread = threads[0]
    names = _names(trace, accesses[0], threads)
    if not (faulty and others):
        if len(threads) > 1 and len(threads) == prod(launch.grid) * prod(launch.block):
            return "all"
        if (
            len(threads) > 2
            and on_a_line
            and threads == [(block, thread + n) for n in range(len(threads))]
        ):
            return f"{names[0]}–{threads[-1][1]}"
    if len(threads) == 1:
        return names[0] + (f"×{len(accesses)}" if len(accesses) > 1 else "")
    # An index of two numbers has a comma in it.
    comma = "," if on_a_line else " "
    all_named = len(threads) <= MOST_NAMED and not short
    named = names if all_named else names[: 2 if len(faulty) > 1 else 1]
    if len(named) == len(threads):
        return comma.join(named)
    more = "…" if short else f"& {len(threads) - len(named)} more"
    return f"{comma.join(named)} {more}"


def _names(trace: Trace, access: Access, threads: Sequence[tuple[int, int]]) -> list[str]:
    """Name threads, each with its block if that differs from the thread before."""
    launch = trace.launches[access.launch]
    # The title of a drawing of shared memory names its block.
    shared = trace.arrays[access.array].space == "shared"
    several = prod(launch.grid) > 1 and not shared
    names = []
    for number, (block, thread) in enumerate(threads):
        name = f"t{numbered(thread, launch.block, ',')}"
        if several and (number == 0 or block != threads[number - 1][0]):
            name = f"b{numbered(block, launch.grid, ',')} {name}"
        names.append(name)
    return names


def legend(trace: Trace, drawn: str, width: int) -> Text:
    present = {kind for kind, _, _ in problems(trace)} - {"never_ran"}
    # Short names appear in rows of boxes and beside them.
    boxes = "".join(line for line in drawn.splitlines() if "│" in line or "outside:" in line)
    flat = all(launch.block[1] == launch.block[2] == 1 for launch in trace.launches)
    parts = []
    if thread := re.search(r"\bt([\d,]+)", boxes):
        x, *rest = thread[1].split(",")
        parts.append(
            f"t{x}: thread {x}"
            if flat or not rest
            else f"t{thread[1]}: the thread with x = {x}, y = {rest[0]}"
        )
    if block := re.search(r"\bb([\d,]+) t", boxes):
        parts.append(f"b{block[1]}: block {block[1]}")
    if pair := re.search(r"\bt(\d+),t(\d+)", boxes):
        parts.append(f"{pair[0]}: threads {pair[1]} and {pair[2]}")
    if run := re.search(r"\bt(\d+)–(\d+)", boxes):
        parts.append(f"{run[0]}: threads {run[1]} to {run[2]}")
    if some := re.search(r"\bt[\d,]+ …", boxes):
        parts.append(f"{some[0]}: this thread and others")
    if program := re.search(r"\bp([\d,]+)\b", boxes if trace.unit == "lanes" else ""):
        parts.append(f"{program[0].split(',p')[0]}: program {program[1].split(',p')[0]}")
    if lane := re.search(r"\bl(\d+)\b", boxes if trace.unit == "lanes" else ""):
        parts.append(f"{lane[0]}: lane {lane[1]}")
    if times := re.search(r"×(\d+)", boxes):
        parts.append(f"×{times[1]}: {times[1]} times")
    if re.search(r"\ball\b", boxes):
        parts.append("all: every program" if trace.unit == "lanes" else "all: every thread")
    parts += [f"{mark} {meaning(trace, kind)}" for kind, mark in MARKS.items() if kind in present]
    text = Text()
    if parts:
        text.append("\n" + filled(" · ".join(parts), width), style=FAINT)
    return text
