"""Trace one call of a kernel: the accesses of each thread, from which pictures are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader import backends
from grader.correctness import (
    expect,
    first_mismatch,
    nearest,
    number_text,
    reseeded,
    right_elements,
    suspects,
    widened,
)
from grader.grading import tracing_lanes
from grader.grading.session import Grading
from grader.grading.trials import failure_from, trusted
from grader.grading.value_texts import value_texts
from grader.model import (
    FROM_END,
    MOST_ACCESSES,
    Access,
    Array,
    ArrayRef,
    Case,
    Failure,
    Inputs,
    Kind,
    Launch,
    Spec,
    Stop,
    Stopped,
    Trace,
    Traced,
    TraceFault,
    Wrong,
    printable,
)

# What the numbers in a row of `wire.Traced` stand for.
KINDS: tuple[Kind, ...] = ("read", "write", "update")
FAULTS: tuple[TraceFault, ...] = ("", "out_of_bounds", "race", "uninitialised", "from_end")


def pictured(spec: Spec) -> Case:
    return spec.pictured or min(spec.edges, key=lambda case: case.elements)


def trace_of(grading: Grading, case: Case | None = None) -> Trace:
    """Call the kernel once, in simulation, on `case` or the one `pictured`, and log every access.

    A failure of the kernel is part of the trace. Elements are compared with the reference only
    after a call that came to its end. The backend must be able to trace threads or lanes.
    """
    spec, kernel = grading.spec, grading.simulated
    if case is None:
        case = reseeded(pictured(spec), grading.options.seed)
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    source = tuple(map(printable, grading.source))
    fields: dict[str, Any]
    if backends.find(spec.backend).can.trace_lanes:
        outputs, lanes, failed = kernel.trace_lanes(inputs)
        outcome = _outcome(grading, case, inputs, outputs, failed)
        arrays, numbers = _arrays(spec, {**inputs, **outputs}, lanes.arrays)
        shapes = [ref.shape for ref in lanes.arrays]
        fields = tracing_lanes.fields_of(lanes, shapes, numbers, len(source))
        cut = lanes.cut
    else:
        outputs, traced, failed = kernel.trace(inputs)
        outcome = _outcome(grading, case, inputs, outputs, failed)
        # Where the call itself failed, each index below 0 may be to blame; where nothing did, none.
        blameless = outcome.failure and not outcome.wrong
        blamed = -1 if blameless else suspects(traced, outcome.marked)
        arrays, numbers = _arrays(spec, {**inputs, **outputs}, traced.arrays)
        fields = {
            "launches": tuple(
                Launch(kernel=one.kernel, grid=one.grid, block=one.block) for one in traced.launches
            ),
            "accesses": tuple(_accesses(traced, numbers, len(source), blamed)),
            "stopped": _stopped(traced.stop, failed),
        }
        cut = traced.cut
    return Trace(
        exercise=grading.exercise.name,
        case=case.headline,
        source=source,
        arrays=arrays,
        failure=outcome.failure,
        wrong=outcome.wrong,
        unwritten=outcome.unwritten,
        cut=cut,
        **fields,
    )


@dataclass(frozen=True)
class _Outcome:
    """The result of a call: its failure, and the elements that are wrong or never written."""

    failure: Failure | None = None
    wrong: dict[str, tuple[Wrong, ...]] = field(default_factory=dict)
    marked: Mapping[str, Tensor] = field(default_factory=dict)
    unwritten: dict[str, tuple[int, ...]] = field(default_factory=dict)


def _outcome(
    grading: Grading,
    case: Case,
    inputs: Inputs,
    outputs: Mapping[str, Tensor],
    failed: Failure | None,
) -> _Outcome:
    if failed is not None:
        return _Outcome(Failure(kind=failed.kind, message=failed.message, frames=failed.frames))
    spec, kernel = grading.spec, grading.simulated
    missing = kernel.unwritten(outputs)
    expected = trusted(lambda: expect(spec, case, inputs), "the reference", case)
    mismatch = first_mismatch(expected, outputs, missing)
    expected = nearest(expected, outputs)
    failure = None
    if mismatch is not None:
        described = failure_from(mismatch, spec.backend)
        failure = Failure(kind=described.kind, message=described.message)
    wrong: dict[str, tuple[Wrong, ...]] = {}
    marked: dict[str, Tensor] = {}
    for name, right in right_elements(expected, outputs):
        bad = ~right & ~missing[name] if name in missing else ~right
        if bad.any():
            wrong[name] = _wrong(bad, expected.outputs[name], outputs[name])
            marked[name] = bad
    unwritten = {name: _first_places(each) for name, each in missing.items() if each.any()}
    return _Outcome(failure, wrong, marked, unwritten)


def _stopped(stop: Stop | None, failed: Failure | None) -> Stopped | None:
    if stop is None or failed is None:
        return None
    return Stopped(
        launch=stop.launch,
        step=stop.step,
        block=stop.block,
        threads=stop.threads,
        blocks=stop.blocks,
    )


def _first_places(marked: Tensor) -> tuple[int, ...]:
    return tuple(marked.flatten().nonzero().flatten()[:MOST_ACCESSES].tolist())


def _wrong(bad: Tensor, answer: Tensor, got: Tensor) -> tuple[Wrong, ...]:
    expected, actual = answer.flatten(), widened(got).flatten()

    def text(value: Tensor) -> str:
        return number_text(value.item(), got.dtype)

    return tuple(
        Wrong(element=at, expected=text(expected[at]), got=text(actual[at]))
        for at in _first_places(bad)
    )


def _arrays(
    spec: Spec, values: Mapping[str, Tensor | float], logged: Sequence[ArrayRef]
) -> tuple[tuple[Array, ...], list[int]]:
    """List the arguments, then the kernel's other arrays; number those of the worker's log."""
    arrays = []
    for argument in spec.arguments:
        value = values[argument.name]
        if argument.role != "scalar" and isinstance(value, Tensor):
            arrays.append(
                Array(
                    name=argument.name,
                    space="global",
                    shape=tuple(value.shape),
                    role=argument.role,
                )
            )
    places = {(array.name, array.shape): number for number, array in enumerate(arrays)}
    numbers = []
    for ref in logged:
        known = places.get((ref.name, ref.shape)) if ref.space == "argument" else None
        if known is None:
            known = len(arrays)
            shared = ref.space == "shared"
            arrays.append(
                Array(
                    name=_unused_name(ref.name, {array.name for array in arrays}),
                    space="shared" if shared else "global",
                    shape=ref.shape,
                    role="shared" if shared else "scratch",
                )
            )
        numbers.append(known)
    return tuple(arrays), numbers


def _unused_name(name: str, used: set[str]) -> str:
    unused, number = name, 2
    while unused in used:
        unused, number = f"{name} {number}", number + 1
    return unused


def _accesses(traced: Traced, numbers: Sequence[int], lines: int, blamed: int) -> Iterable[Access]:
    """Yield the accesses. An index below 0 is a fault where its bit in `blamed` is set."""
    bits = traced.values or (None,) * len(traced.accesses)
    values = value_texts(
        [(one, traced.arrays[row[4]].dtype) for one, row in zip(bits, traced.accesses, strict=True)]
    )
    for place, row in enumerate(traced.accesses):
        launch, step, block, thread, array, element, kind, line, fault = row
        if fault == FROM_END and not blamed >> place & 1:
            fault = 0
        yield Access(
            launch=launch,
            step=step,
            block=block,
            thread=thread,
            array=numbers[array],
            element=None if element == -1 else element,
            index=traced.outside if element == -1 else (),
            kind=KINDS[kind],
            line=line if 0 < line <= lines else None,
            fault=FAULTS[fault],
            value=values[place],
        )
