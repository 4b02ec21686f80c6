"""Trace one call of a kernel: the accesses of each thread, from which pictures are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torch import Tensor

from grader.correctness import (
    expect,
    first_mismatch,
    number_text,
    reseeded,
    right_elements,
    suspects,
    widened,
)
from grader.grading.session import Grading
from grader.grading.trials import failure_from, trusted
from grader.model import (
    FROM_END,
    MOST_ACCESSES,
    Access,
    Array,
    ArrayRef,
    Case,
    Failure,
    Kind,
    Launch,
    Spec,
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
    after a call that came to its end. The backend must be able to trace threads.
    """
    spec, kernel = grading.spec, grading.simulated
    if case is None:
        case = reseeded(pictured(spec), grading.options.seed)
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    outputs, traced, failed = kernel.trace(inputs)
    failure = None if failed is None else Failure(kind=failed.kind, message=failed.message)
    wrong: dict[str, tuple[Wrong, ...]] = {}
    marked: dict[str, Tensor] = {}
    unwritten: dict[str, tuple[int, ...]] = {}
    if failure is None:
        missing = kernel.unwritten(outputs)
        expected = trusted(lambda: expect(spec, case, inputs), "the reference", case)
        mismatch = first_mismatch(expected, outputs, missing)
        if mismatch is not None:
            described = failure_from(mismatch, spec.backend)
            failure = Failure(kind=described.kind, message=described.message)
        unwritten = {
            name: _first_places(marked) for name, marked in missing.items() if marked.any()
        }
        for name, right in right_elements(expected, outputs):
            bad = ~right & ~missing[name] if name in missing else ~right
            if bad.any():
                wrong[name] = _wrong(bad, expected.outputs[name], outputs[name])
                marked[name] = bad
    # Where the call itself failed, each index below 0 may be to blame; where nothing did, none.
    blamed = -1 if failure and not wrong else suspects(traced, marked)
    arrays, numbers = _arrays(spec, {**inputs, **outputs}, traced.arrays)
    source = tuple(map(printable, grading.source))
    return Trace(
        exercise=grading.exercise.name,
        case=case.headline,
        source=source,
        launches=tuple(
            Launch(kernel=one.kernel, grid=one.grid, block=one.block) for one in traced.launches
        ),
        arrays=arrays,
        accesses=tuple(_accesses(traced, numbers, len(source), blamed)),
        failure=failure,
        wrong=wrong,
        unwritten=unwritten,
        cut=traced.cut,
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
        )
