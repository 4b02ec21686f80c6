"""The accesses of all lanes in one simulated call, as a simulated device sends them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from grader.model import wire
from grader.model.traced import (
    MOST_ACCESSES,
    MOST_ARRAYS,
    MOST_LAUNCHES,
    ArrayRef,
    LaunchRef,
    read_array,
    read_launch,
)

MOST_OPERATIONS, MOST_STEPS, MOST_ACTS = 512, 1024, 2000  # of a traced call
MOST_LOOPS = 8  # that nest, in one step
OperationKind = Literal["load", "store", "atomic", "reduce"]
OPERATIONS: Mapping[str, OperationKind] = {word: word for word in get_args(OperationKind)}
RACE, UNINITIALISED, UNDEFINED = 2, 3, 5  # faults of an access


@dataclass(frozen=True)
class OperationRef:
    """A load, store, atomic or reduction in the text of a launch's kernel; `kind` is that word.

    `line` is 0 where it is in no line of the kernel file. `name` is the variable that gets its
    result, if the line assigns one. `shape` is that of its block, () for a scalar, and `dtype` that
    of its elements.
    """

    launch: int
    kind: OperationKind
    line: int
    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class StepRef:
    """A stretch of a launch's programs between two turns of loops.

    `loops` are the loops around it, outermost first, each as its line and the number of the turn.
    """

    launch: int
    loops: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TracedLanes:
    """The accesses of all lanes of all programs in one simulated call.

    `operations` are all those of each launch's text, whether a program came to them or not. A row
    of `acts` is one program that executes one operation once: numbers of the step, program and
    operation, its active lanes, what the other lanes get (0 nothing defined, 1 one value, 2 several
    values), that value, and 1 if an error stopped it there, else 0.

    A row of `accesses` is: number of the act, lane (in row-major order), number of the array (-1
    for a result of a reduction), fault (0 none, 2 race, 3 uninitialised, UNDEFINED a value that no
    load defined), the value, and the index, which has a number for each axis of the array and may
    lie outside. Values are bits as signed integers, of the operation's dtype; an atomic has what
    it leaves in memory.

    `cut` is the number of further accesses, which are not listed: whole acts, and lanes in the
    middle of an act that lists fewer lanes than are active.
    """

    launches: tuple[LaunchRef, ...] = ()
    arrays: tuple[ArrayRef, ...] = ()
    steps: tuple[StepRef, ...] = ()
    operations: tuple[OperationRef, ...] = ()
    acts: tuple[tuple[int, ...], ...] = ()
    accesses: tuple[tuple[int, ...], ...] = ()
    cut: int = 0


def read_traced_lanes(value: Mapping[str, Any]) -> TracedLanes:
    """Read a call's accesses. Raises what `wire` does for another form."""
    launches = tuple(map(read_launch, _at_most(MOST_LAUNCHES, value["launches"])))
    arrays = tuple(map(read_array, _at_most(MOST_ARRAYS, value["arrays"])))
    steps = tuple(_step(one, len(launches)) for one in _at_most(MOST_STEPS, value["steps"]))
    operations = tuple(
        _operation(one, len(launches)) for one in _at_most(MOST_OPERATIONS, value["operations"])
    )
    whole = TracedLanes(launches, arrays, steps, operations)
    acts = tuple(_act(row, whole) for row in _at_most(MOST_ACTS, value["acts"]))
    whole = replace(whole, acts=acts)
    accesses = _at_most(MOST_ACCESSES, value["accesses"])
    return replace(
        whole,
        accesses=tuple(_access(row, whole) for row in accesses),
        cut=wire.total(value["cut"]),
    )


def _at_most(most: int, value: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise ValueError(f"not a list of at most {most}")
    return value


def _step(value: Mapping[str, Any], launches: int) -> StepRef:
    loops = [(wire.count(line), wire.count(turn)) for line, turn in value["loops"]]
    return StepRef(wire.count(value["launch"], launches - 1), tuple(loops[:MOST_LOOPS]))


def _operation(value: Mapping[str, Any], launches: int) -> OperationRef:
    return OperationRef(
        launch=wire.count(value["launch"], launches - 1),
        kind=OPERATIONS[value["kind"]],
        line=wire.count(value["line"]),
        name=wire.text(value["name"]),
        shape=wire.extents(value["shape"]),
        dtype=wire.text(value["dtype"]),
    )


def _act(row: Any, whole: TracedLanes) -> tuple[int, ...]:
    step, program, operation, active, other, bits, stopped = map(wire.bits, row)
    launch = whole.steps[wire.count(step, len(whole.steps) - 1)].launch
    does = whole.operations[wire.count(operation, len(whole.operations) - 1)]
    if does.launch != launch:
        raise ValueError("an operation of another launch")
    wire.count(program, math.prod(whole.launches[launch].grid) - 1)
    wire.count(active, math.prod(does.shape))
    wire.count(other, 2)
    wire.count(stopped, 1)
    return step, program, operation, active, other, bits, stopped


def _access(row: Any, whole: TracedLanes) -> tuple[int, ...]:
    act, lane, array, fault, value, *index = map(wire.bits, row)
    does = whole.operations[whole.acts[wire.count(act, len(whole.acts) - 1)][2]]
    wire.count(lane, math.prod(does.shape) - 1)
    if (array == -1) != (does.kind == "reduce"):
        raise ValueError("only the results of reductions are in no array")
    if len(index) != (0 if array == -1 else len(_array(array, whole).shape)):
        raise ValueError("an index with another number of axes")
    if fault not in (0, RACE, UNINITIALISED, UNDEFINED):
        raise ValueError(f"no fault {fault}")
    return act, lane, array, fault, value, *index


def _array(number: int, whole: TracedLanes) -> ArrayRef:
    return whole.arrays[wire.count(number, len(whole.arrays) - 1)]
