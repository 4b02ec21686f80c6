"""The record of a simulated device becomes part of a trace: programs, operations, lanes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from grader.grading.value_texts import value_texts
from grader.model import (
    RACE,
    UNDEFINED,
    UNINITIALISED,
    Access,
    Act,
    Kind,
    Launch,
    Operation,
    Part,
    Stopped,
    TracedLanes,
    TraceFault,
    Turn,
)

_KINDS: dict[str, Kind] = {"load": "read", "store": "write", "atomic": "update"}
_FAULTS: dict[int, TraceFault] = {
    0: "",
    RACE: "race",
    UNINITIALISED: "uninitialised",
    UNDEFINED: "undefined",
}


def fields_of(
    traced: TracedLanes, shapes: Sequence[tuple[int, ...]], numbers: Sequence[int], lines: int
) -> dict[str, Any]:
    """Return fields of a `Trace`: launches, operations, acts, accesses, and where it stopped.

    `shapes` are those of the traced arrays, `numbers` their numbers in the trace.
    """
    steps = _numbers_in_launches(traced)
    acts = _acts(traced, steps)
    accesses = tuple(_accesses(traced, acts, shapes, numbers, lines))
    return {
        "unit": "lanes",
        "launches": tuple(
            Launch(
                kernel=one.kernel, grid=one.grid, block=one.block, parts=_parts(traced, n, lines)
            )
            for n, one in enumerate(traced.launches)
        ),
        "operations": tuple(
            Operation(
                launch=one.launch,
                kind=one.kind,
                line=_line(one.line, lines),
                name=one.name,
                shape=one.shape,
            )
            for one in traced.operations
        ),
        "acts": acts,
        "accesses": accesses,
        "stopped": _stopped(traced, acts, accesses),
    }


def _line(line: int, lines: int) -> int | None:
    return line if 0 < line <= lines else None


def _numbers_in_launches(traced: TracedLanes) -> list[int]:
    seen: dict[int, int] = {}
    numbers = []
    for step in traced.steps:
        numbers.append(seen.get(step.launch, 0))
        seen[step.launch] = numbers[-1] + 1
    return numbers


def _parts(traced: TracedLanes, launch: int, lines: int) -> tuple[Part, ...]:
    parts = tuple(
        Part(
            loops=tuple(Turn(line=_line(line, lines) or 0, turn=turn) for line, turn in step.loops)
        )
        for step in traced.steps
        if step.launch == launch
    )
    return parts or (Part(),)


def _acts(traced: TracedLanes, steps: Sequence[int]) -> tuple[Act, ...]:
    dtypes = [traced.operations[row[2]].dtype for row in traced.acts]
    others = value_texts([(row[5], dtype) for row, dtype in zip(traced.acts, dtypes, strict=True)])
    results: dict[int, list[tuple[int, str]]] = {}
    for act, _, array, _, value, *_ in traced.accesses:
        if array == -1:
            results.setdefault(act, []).append((value, dtypes[act]))
    acts = []
    for number, (step, program, operation, active, other, _, stopped) in enumerate(traced.acts):
        acts.append(
            Act(
                launch=traced.steps[step].launch,
                step=steps[step],
                block=program,
                operation=operation,
                active=active,
                other=(None, others[number], "several values")[other],
                results=tuple(value_texts(results.get(number, []))),
                stopped=bool(stopped),
            )
        )
    return tuple(acts)


def _accesses(
    traced: TracedLanes,
    acts: Sequence[Act],
    shapes: Sequence[tuple[int, ...]],
    numbers: Sequence[int],
    lines: int,
) -> list[Access]:
    rows = [row for row in traced.accesses if row[2] != -1]
    does = [traced.operations[acts[row[0]].operation] for row in rows]
    values = value_texts([(row[4], one.dtype) for row, one in zip(rows, does, strict=True)])
    accesses = []
    for (number, lane, array, fault, _, *index), operation, value in zip(
        rows, does, values, strict=True
    ):
        act = acts[number]
        element = _element(index, shapes[array])
        # What was stopped has read or updated nothing.
        known = not act.stopped or operation.kind == "store"
        accesses.append(
            Access(
                launch=act.launch,
                step=act.step,
                block=act.block,
                thread=lane,
                array=numbers[array],
                element=element,
                index=tuple(index) if element is None else (),
                kind=_KINDS[operation.kind],
                line=_line(operation.line, lines),
                fault="out_of_bounds" if element is None else _FAULTS[fault],
                value=value if known else "",
                act=number,
            )
        )
    return accesses


def _element(index: Sequence[int], shape: tuple[int, ...]) -> int | None:
    """Return an element's number in C order; None where the index lies outside."""
    number = 0
    for at, extent in zip(index, shape, strict=True):
        if not 0 <= at < extent:
            return None
        number = number * extent + at
    return number


def _stopped(
    traced: TracedLanes, acts: Sequence[Act], accesses: Sequence[Access]
) -> Stopped | None:
    """Return where an error stopped the last launch: all programs execute an operation at once."""
    stopped = [act for act in acts if act.stopped]
    if not stopped:
        return None
    faulty = {each.act for each in accesses if each.fault and each.act is not None}
    last = next((acts[number] for number in sorted(faulty) if acts[number].stopped), stopped[-1])
    came_to = {act.operation for act in acts}
    begun = {act.block for act in acts if act.launch == last.launch}
    grid = prod(traced.launches[last.launch].grid)
    never = tuple(
        number
        for number, operation in enumerate(traced.operations)
        if operation.launch == last.launch and number not in came_to
    )
    missing = () if traced.cut else tuple(n for n in range(min(grid, 4096)) if n not in begun)
    return Stopped(
        launch=last.launch,
        step=last.step,
        block=last.block,
        threads=(),
        blocks=missing,
        operations=never,
    )
