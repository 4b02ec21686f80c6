"""The accesses of a small case as one HTML page that needs no network.

Text from a kernel stays text: the template escapes it, and the script sets it as text. A
Content-Security-Policy lets only the page's own script and style run, known by their hashes.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from markupsafe import Markup, escape

from grader.model import Access, Array, Trace, index_of, range_around, size, stage, step_count
from grader.reports.trace_code import code_at
from grader.reports.trace_strips import about_mask, results_of
from grader.reports.trace_words import (
    ALL_WELL,
    CUT,
    MARKS,
    MEANINGS,
    MORE_CASES,
    ROLES,
    VERBS,
    element_name,
    launched,
    meaning,
    numbered,
    part_words,
    problems,
    program_name,
    step_words,
)
from grader.reports.webpage import Own, file, page_templates

# Colours of blocks, in turn, and for each the ink that is easier to read on it. They are Okabe and
# Ito's, which people with any colour vision can distinguish; their vermilion marks faults.
BLOCKS = (
    ("#56B4E9", "#000000"),
    ("#E69F00", "#000000"),
    ("#009E73", "#000000"),
    ("#F0E442", "#000000"),
    ("#0072B2", "#FFFFFF"),
    ("#CC79A7", "#000000"),
)
LETTERS = {"read": "R", "write": "W", "update": "U"}
MOST_CELLS = 256  # of an array of one dimension
MOST_ROWS = MOST_COLUMNS = 32  # of an array of more
MOST_THREADS = 1024  # in the picture of a launch's threads
MOST_BLOCKS = 8  # drawings of shared memory


# What a page calls the one who acts, their group, and a group's short name.
WORDS = {
    "threads": {
        "one": "thread",
        "many": "Threads",
        "group": "block",
        "short": "b",
        "heading": "threads and memory",
    },
    "lanes": {
        "one": "lane",
        "many": "Lanes",
        "group": "program",
        "short": "p",
        "heading": "programs and memory",
    },
}
MOST_LANES = 256  # of an operation
MOST_ACTS = 32  # in one frame


def page(trace: Trace) -> str:
    templates = page_templates({"code": _code})
    frames = _frames(trace)
    return templates.get_template("trace.html").render(
        trace=trace,
        view=_script_data(trace, frames),
        cut=CUT[trace.unit],
        words=WORDS[trace.unit],
        all_well=ALL_WELL,
        more_cases=MORE_CASES,
        problems=[
            (
                MARKS[kind],
                sentence,
                access and _frame_of(frames, access),
                _access_number(trace, access),
            )
            for kind, sentence, access in problems(trace)
        ],
        updates=any(access.kind == "update" for access in trace.accesses),
        several=any(prod(launch.grid) > 1 for launch in trace.launches),
        crowded=_crowded(trace),
        marks={MARKS[kind]: meaning(trace, kind) for kind in _fault_kinds(trace)},
        own=Own(file(templates, "trace.css") + _palette(), file(templates, "trace.js")),
    )


def _code(text: str) -> Markup:
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _palette() -> Markup:
    """Return a class for each block, which colours the block and the elements that it touches."""
    return Markup("").join(
        Markup(f".b{number} {{ --block: {block}; --on-block: {ink}; }}\n")
        for number, (block, ink) in enumerate(BLOCKS)
    )


def _crowded(trace: Trace) -> bool:
    """Return whether some box holds more threads of one block than the two that it can name."""
    inside: dict[tuple[int, int, int | None, int], set[tuple[int, int]]] = {}
    for access in trace.accesses:
        block = access.block if trace.arrays[access.array].space == "shared" else -1
        where = access.launch, access.array, access.element, block
        inside.setdefault(where, set()).add((access.block, access.thread))
    return any(
        len(acting) > 2 or len({block for block, _ in acting}) > 1 for acting in inside.values()
    )


def _fault_kinds(trace: Trace) -> list[str]:
    present = {kind for kind, _, _ in problems(trace)} - {"never_ran"}
    return [kind for kind in MEANINGS if kind in present]


def _access_number(trace: Trace, access: Access | None) -> int | None:
    return next((n for n, each in enumerate(trace.accesses) if each is access), None)


def _frames(trace: Trace) -> list[dict[str, Any]]:
    """Return the positions of the slider: each step of each launch, then all its steps together."""
    if trace.unit == "lanes":
        return _frames_of_programs(trace)
    frames: list[dict[str, Any]] = []
    for number, launch in enumerate(trace.launches):
        count = step_count(trace, number)
        which = f"Launch {number + 1} of {len(trace.launches)}: " * (len(trace.launches) > 1)
        about = f"{which}{launch.kernel}, {launched(launch)}"
        if count > 1:
            frames += [
                {
                    "launch": number,
                    "step": step,
                    "title": f"Part {step + 1} of {count}, {step_words(trace, number, step)}",
                    "about": about,
                }
                for step in range(count)
            ]
        title = f"All {count} parts together" if count > 1 else "One part: no barrier"
        frames.append({"launch": number, "step": None, "title": title, "about": about})
    return frames


def _frames_of_programs(trace: Trace) -> list[dict[str, Any]]:
    """Return each step of each program, one program after the other, then all of a launch."""
    frames: list[dict[str, Any]] = []
    for number, launch in enumerate(trace.launches):
        which = f"Launch {number + 1} of {len(trace.launches)}: " * (len(trace.launches) > 1)
        about = f"{which}{launch.kernel}, {launched(launch)}"
        mine = sorted({(act.block, act.step) for act in trace.acts if act.launch == number})
        for block, step in mine if len(mine) > 1 else ():
            name = program_name(launch, block)
            part = f", {part_words(trace, number, step)}" if len(launch.parts) > 1 else ""
            title = f"{name.capitalize()}{part}"
            frames.append(
                {"launch": number, "step": step, "block": block, "title": title, "about": about}
            )
        title = f"{launched(launch).capitalize()} together" if len(mine) > 1 else "1 program"
        frames.append(
            {"launch": number, "step": None, "block": None, "title": title, "about": about}
        )
    return frames


def _frame_of(frames: list[dict[str, Any]], access: Access) -> int:
    return next(
        number
        for number, frame in enumerate(frames)
        if frame["launch"] == access.launch
        and frame["step"] in (None, access.step)
        and frame.get("block") in (None, access.block)
    )


def _script_data(trace: Trace, frames: list[dict[str, Any]]) -> dict[str, Any]:
    first = next((access for access in trace.accesses if access.fault), None)
    last = {
        (access.array, access.element): number
        for number, access in enumerate(trace.accesses)
        if access.kind != "read"
    }
    return {
        "frames": frames,
        # Begin at the first fault, else at the start.
        "start": _frame_of(frames, first)
        if first
        else len(frames) - 1
        if trace.wrong or trace.unwritten
        else 0,
        "launches": [_launch(trace, number) for number in range(len(trace.launches))],
        "arrays": [_array(trace, number, last) for number in range(len(trace.arrays))],
        "order": _order(trace),
        "accesses": [
            {
                **access.model_dump(exclude={"index"}),
                "at": element_name(
                    trace.arrays[access.array],
                    access.index
                    if access.element is None
                    else index_of(access.element, trace.arrays[access.array].shape),
                ),
            }
            for access in trace.accesses
        ],
        "unit": trace.unit,
        "words": WORDS[trace.unit],
        "acts": [_act(trace, number) for number in range(len(trace.acts))],
        "mostActs": MOST_ACTS,
        "neverRan": _never_ran(trace),
        "verbs": VERBS,
        "letters": LETTERS,
        "marks": MARKS,
        "meanings": {kind: meaning(trace, kind) for kind in MEANINGS},
        "colours": len(BLOCKS),
        "mostBlocks": MOST_BLOCKS,
    }


def _act(trace: Trace, number: int) -> dict[str, Any]:
    act = trace.acts[number]
    operation = trace.operations[act.operation]
    listed = [access.thread for access in trace.accesses if access.act == number]
    lanes = prod(operation.shape)
    # Masked lanes behind the last active one say no more than the first of them.
    end = min(max(listed, default=0) + 2, lanes)
    across = operation.shape[-1] if len(operation.shape) > 1 else 0
    if across:
        end = min(-(-end // across) * across, lanes)
    start = range_around(end, listed, MOST_LANES).start
    return {
        **act.model_dump(include={"launch", "step", "block", "stopped"}),
        "kind": operation.kind,
        "line": operation.line,
        "name": operation.name,
        "code": code_at(trace, operation.line) if operation.line else operation.kind,
        "lanes": []
        if operation.kind == "reduce"
        else list(range(start, min(end, start + MOST_LANES))),
        "across": across,
        "gives": results_of(trace, act),
        "mask": about_mask(trace, act),
        "scalar": not operation.shape,
    }


def _never_ran(trace: Trace) -> dict[str, Any]:
    stop = trace.stopped
    if stop is None:
        return {"launch": None, "step": 0, "block": 0, "threads": [], "blocks": [], "lines": []}
    operations = [trace.operations[number] for number in stop.operations]
    return {
        **stop.model_dump(include={"launch", "step", "block", "threads", "blocks"}),
        "lines": [
            {"line": one.line, "code": trace.source[one.line - 1].strip()}
            for one in operations
            if one.line
        ],
    }


def _order(trace: Trace) -> list[int]:
    """Return the arrays as data flows: arguments in their order, shared memory by first access."""
    first: dict[int, int] = {}
    for number, access in enumerate(trace.accesses):
        first.setdefault(access.array, number)

    def order(number: int) -> tuple[int, int]:
        array = trace.arrays[number]
        if number in first:
            where = stage(array, trace.accesses[first[number]].kind)
        else:
            where = stage(array, "write" if array.role == "out" else "read")
        return where, first.get(number, len(trace.accesses)) if where == 1 else number

    return sorted(range(len(trace.arrays)), key=order)


def _launch(trace: Trace, number: int) -> dict[str, Any]:
    launch = trace.launches[number]
    threads, blocks = prod(launch.block), prod(launch.grid)
    acting = {access.block for access in trace.accesses if access.launch == number}
    faulty = {access.block for access in trace.accesses if access.launch == number and access.fault}
    drawn = range_around(blocks, faulty, max(MOST_THREADS // threads, 1))
    return {
        "threads": [numbered(thread, launch.block) for thread in range(threads)],
        "blocks": {block: numbered(block, launch.grid) for block in sorted({*drawn, *acting})},
        "several": blocks > 1,
        "drawn": list(drawn),
        "leftOut": blocks - len(drawn),
        "columns": launch.block[0],
        # A grid of one dimension takes as many columns as fit.
        "across": launch.grid[0] if launch.grid[1] * launch.grid[2] > 1 else None,
    }


def _array(trace: Trace, number: int, last: dict[tuple[int, int | None], int]) -> dict[str, Any]:
    array = trace.arrays[number]
    wrong = {each.element: each for each in trace.wrong.get(array.name, ())}
    missing = trace.unwritten.get(array.name, ())
    mine = [
        access for access in trace.accesses if access.array == number and access.element is not None
    ]
    bad = {access.element for access in mine if access.fault and access.element is not None}
    rows, columns = _drawn(array, {*bad, *wrong, *missing} or {a.element or 0 for a in mine})
    cells = [
        element
        for row in rows
        for element in (row * (array.shape[-1] if array.shape else 1) + c for c in columns)
    ]
    return {
        "name": array.name,
        "role": ROLES[array.role],
        "extent": " × ".join(f"{extent:,}" for extent in array.shape) or "1",
        "shared": array.space == "shared",
        "cells": [
            {"element": each, "at": element_name(array, index_of(each, array.shape))}
            for each in cells
        ],
        "columns": [str(column) for column in columns] if len(array.shape) > 1 else None,
        "rows": [", ".join(map(str, index_of(row, array.shape[:-1]))) for row in rows],
        "size": size(array),
        "wrong": {
            element: {
                "text": f"is {each.got} and should be {each.expected}",
                "by": last.get((number, element)),
            }
            for element, each in wrong.items()
        },
        "unwritten": list(missing),
    }


def _drawn(array: Array, interest: set[int]) -> tuple[range, range]:
    """Return the rows and columns to draw; an array of at most one dimension is one row."""
    if not size(array):
        return range(0), range(0)
    if len(array.shape) < 2:
        return range(1), range_around(size(array), interest, MOST_CELLS)
    across = array.shape[-1]
    rows = range_around(size(array) // across, {each // across for each in interest}, MOST_ROWS)
    in_rows = {each % across for each in interest if each // across in rows}
    return rows, range_around(across, in_rows, MOST_COLUMNS)
