"""The likely cause of a failing case, which further calls of the kernel may show."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from grader import backends
from grader.correctness import (
    CaseDraw,
    Evidence,
    Use,
    Witness,
    expect,
    explain,
    fitting,
    nearest,
    twice_by_device,
    twice_by_threads,
    uses_of_device,
    uses_of_threads,
    with_deciding_lines,
)
from grader.grading.session import Grading
from grader.grading.text_causes import with_line
from grader.grading.trials import trusted
from grader.model import Backend, Case, Failure, GraderError, LaunchRef, Traced
from grader.sandbox import RemoteKernel

MOST_ATTEMPTS, MOST_SECONDS = 11, 2.0  # of further cases, and of the failing one once more
# Elements of a further case: a simulator of threads runs one after the other, in Python.
MOST_ELEMENTS = {True: 1 << 10, False: 1 << 15}
EXPLAINED = (
    *("value", "not_finite", "rounding", "rms", "never_written"),
    *("out_of_bounds", "stray_write", "input_changed"),
)


def with_cause(failure: Failure, grading: Grading, case: Case) -> Failure:
    """Give the failure its likely cause, a closer hint and a line, where the case shows them.

    It takes further calls, which are worth their time only where a person reads the hint. A fault
    of ours on the way is noted, and the failure stays as it is.
    """
    options, backend = grading.options, backends.find(grading.spec.backend)
    if not options.shrink or options.device != "cpu" or not backend.can.compute_without_gpu:
        return failure
    if failure.kind not in EXPLAINED:
        return failure
    try:
        return _with_cause(failure, grading, case, backend)
    except Exception as error:  # a hint must change no verdict
        grading.note(error)
        return failure


def _with_cause(failure: Failure, grading: Grading, case: Case, backend: Backend) -> Failure:
    evidence = _evidence(failure, grading, case, backend)
    if evidence is None:
        return failure
    found = explain(evidence, grading.note)
    named, line = failure, 0
    if found is not None:
        cause, explanation = found
        message = explanation.message or failure.message
        changes = {"cause": cause, "hint": explanation.hint, "message": message}
        named = failure.model_copy(update=changes)
        line = explanation.line
        if explanation.complete:
            return with_line(named, grading.source, line)
    line, told = with_deciding_lines(evidence, line)
    if told:
        named = named.model_copy(update={"hint": f"{named.hint or ''} {told}".strip()})
    return with_line(named, grading.source, line)


@dataclass(frozen=True)
class _Record:
    """The outputs of one more call of the failing case, and what was seen of it."""

    outputs: Mapping[str, Tensor]
    failure: Failure | None
    uses: tuple[Use, ...] = ()
    twice: Mapping[str, Tensor] = field(default_factory=dict)
    launches: tuple[LaunchRef, ...] | None = None
    traced: Traced | None = None
    complete: bool = False


def _record(kernel: RemoteKernel, inputs: dict[str, Tensor | float], threads: bool) -> _Record:
    """Make the call; raise GraderError where the worker sends no record."""
    if threads:
        outputs, whole, failed = kernel.trace(inputs)
        traced = fitting(whole, {**inputs, **outputs})
        uses, twice = uses_of_threads(traced), twice_by_threads(traced)
        complete = not traced.cut and failed is None
        return _Record(outputs, failed, uses, twice, traced.launches, traced, complete)
    watched = kernel.watch(inputs)
    outputs, failed, seen = dict(watched.outputs), watched.failure, watched.sightings
    if seen is None:
        return _Record(outputs, failed)
    uses = uses_of_device(seen, watched.layouts)
    twice = twice_by_device(seen, watched.layouts)
    complete = not seen.cut and failed is None
    return _Record(outputs, failed, uses, twice, seen.launches, complete=complete)


def _evidence(failure: Failure, grading: Grading, case: Case, backend: Backend) -> Evidence | None:
    kernel, spec = grading.simulated, grading.spec
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        record = _record(kernel, inputs, backend.can.trace_threads)
    except GraderError:  # the case has failed already
        return None
    compared = failure.expected is not None
    if compared and record.failure is not None:  # this call ended in another way than the first
        return None
    expected = trusted(lambda: expect(spec, case, inputs), "the reference", case)
    expected = nearest(expected, record.outputs)
    unwritten = kernel.unwritten(record.outputs)
    main = Witness(spec, case, inputs, record.outputs, expected, unwritten)
    return Evidence(
        failure=failure,
        spec=spec,
        case=main,
        source=grading.source,
        decorator=backend.decorator,
        threads=backend.can.trace_threads,
        rounded_up=backend.hints.rounded_up,
        uses=record.uses,
        complete=record.complete,
        twice=record.twice,
        launches=record.launches,
        origins=kernel.origins(),
        traced=record.traced,
        others=_others(grading, case, MOST_ELEMENTS[backend.can.trace_threads]),
        attempt=_attempts(grading, kernel, MOST_ELEMENTS[backend.can.trace_threads]),
    )


def _others(grading: Grading, case: Case, most: int) -> tuple[Case, ...]:
    """Choose edge cases beside the failing one: a large one, a middle one, one of its draw."""
    edges = [
        each
        for each in grading.spec.edges
        if each.dtype == case.dtype and each.elements <= most and each.shape != case.shape
    ]
    edges.sort(key=lambda each: (each.draw == "rows", each.elements))
    chosen = [*edges[-1:], *edges[len(edges) // 2 : len(edges) // 2 + 1]]
    chosen += [each for each in edges if each.draw == case.draw != "rows"][-1:]
    return tuple(dict.fromkeys(chosen))


def _attempts(
    grading: Grading, kernel: RemoteKernel, most: int
) -> Callable[[Case], Witness | None]:
    spec = grading.spec
    known: dict[Case, Witness | None] = {}
    spent_s = 0.0

    def attempt(case: Case) -> Witness | None:
        nonlocal spent_s
        if case in known:
            return known[case]
        if case.elements > most or len(known) == MOST_ATTEMPTS or spent_s > MOST_SECONDS:
            return None
        began = time.monotonic()
        known[case] = None
        try:
            inputs = dict(spec.inputs(case, CaseDraw(case, kernel.device)))
            outputs = kernel.run(inputs)
            expected = nearest(expect(spec, case, inputs), outputs)
        except Exception:  # a case that the spec would not draw, or a call that goes wrong
            return None
        finally:
            spent_s += time.monotonic() - began
        known[case] = Witness(spec, case, inputs, outputs, expected, kernel.unwritten(outputs))
        return known[case]

    return attempt
