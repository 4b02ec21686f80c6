"""Closer hints for cases that show a known mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from torch import Tensor

from grader import backends
from grader.correctness import expect, mistakes, right_elements, right_of
from grader.grading.session import Grading
from grader.grading.trials import trusted
from grader.model import Case, Failure, GraderError, Inputs, Traced, printable


def with_question(failure: Failure, grading: Grading, case: Case) -> Failure:
    """Give the failure a closer hint where the case shows a known mistake.

    It takes another call, which is worth its time only where a person reads the hint.
    """
    options, spec = grading.options, grading.spec
    traceable = options.device == "cpu" and backends.find(spec.backend).can.trace_threads
    if failure.kind not in ("never_written", "value") or not traceable or not options.shrink:
        return failure
    kernel = grading.simulated
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        outputs, traced, failed = kernel.trace(inputs)
    except GraderError:  # the worker sends no record, and the case has failed already
        return failure
    if failed is not None:  # this call ended in another way than the first
        return failure
    if failure.kind == "never_written":
        questions = _about_gaps(kernel.unwritten(outputs), traced)
    else:
        questions = _about_values(grading, case, inputs, outputs, traced)
    question = next(filter(None, questions), None)
    return failure if question is None else failure.model_copy(update={"hint": question})


def _about_gaps(gaps: Mapping[str, Tensor], traced: Traced) -> Iterator[str | None]:
    for name, gap in gaps.items():
        yield mistakes.ask_about_gaps(name, gap, traced)


def _about_values(
    grading: Grading, case: Case, inputs: Inputs, outputs: Mapping[str, Tensor], traced: Traced
) -> Iterator[str | None]:
    expected = trusted(lambda: expect(grading.spec, case, inputs), "the reference", case)
    wrong = {name: ~right for name, right in right_elements(expected, outputs)}
    yield mistakes.ask_about_indices(traced, wrong, list(map(printable, grading.source)))
    for name, answer in expected.outputs.items():
        is_right = partial(right_of, expected, name)
        yield mistakes.ask_about_values(name, outputs[name], answer, is_right, traced.launches)
