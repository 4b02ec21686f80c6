"""The steps of a check that every exercise has: load, correctness, speed."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

import hypothesis
import torch
from hypothesis import HealthCheck, Phase
from torch import Tensor

from grader import backends
from grader.correctness import (
    Mismatch,
    cases,
    expect,
    first_mismatch,
    has_unused_nan,
    mistakes,
    no_kernel,
    reseeded,
    right_elements,
    right_of,
    shares_right,
)
from grader.course import stubs
from grader.grading.session import Finding, Grading
from grader.model import (
    BrokenExercise,
    CannotGrade,
    Case,
    Failure,
    GraderError,
    Inputs,
    Outcome,
    Traced,
    counted,
    printable,
)
from grader.sandbox import KernelFailure

T = TypeVar("T")

DRAWN_SIMULATED, DRAWN_ON_GPU = 20, 60  # cases beyond the spec's edges
SHRINK_S = 10.0  # seconds spent on looking for a smaller failing case

# Failures that come from the file and not from the case, or that cost a time limit each.
NOT_WORTH_SHRINKING = ("not_started", "timeout", "missing_entry", "syntax", "import", "exit")


def load(grading: Grading) -> Finding:
    """Import the kernel file in a worker and find its entry."""
    if not grading.kernel.strip():
        raise KernelFailure(
            Failure(
                kind="empty",
                message="the kernel file is empty",
                hint=stubs.recovery(grading.exercise, grading.kernel_path),
            )
        )
    grading.executor.load()
    return Finding(grading.spec.signature)


def correctness(grading: Grading) -> Finding:
    """Compare with torch in float64: the spec's edges first, then what Hypothesis draws."""
    options, spec = grading.options, grading.spec
    if options.case is not None:
        return _finding(grading, "one case", options.case, try_case(grading, options.case))
    edges = [reseeded(case, options.seed) for case in spec.edges]
    drawn = DRAWN_SIMULATED if options.device == "cpu" else DRAWN_ON_GPU
    tried = f"{counted(len(edges), 'edge cases')} and {drawn} drawn ones"
    for number, case in enumerate(edges):
        failure = try_case(grading, case)
        if failure is not None:
            if number and options.shrink and failure.kind not in NOT_WORTH_SHRINKING:
                case, failure = _smaller(grading, case, failure)
            return _finding(grading, tried, case, failure)
    drew = _drawn(grading, drawn)
    if drew == (None, None) and spec.kernels:
        needless = without_kernels(grading)
        return Finding(tried, needless, Outcome.PASS if needless is None else Outcome.FAIL)
    return _finding(grading, tried, *drew)


def without_kernels(grading: Grading) -> Failure | None:
    """Call the kernel with all launches left without effect: the answer must be wrong then.

    One call of the counted case, with values that no call had before, so that no earlier answer can
    stand in. An answer that the file's own code could not give is not right either.
    """
    spec, kernel = grading.spec, grading.remote
    case = replace(spec.counted, seed=random.SystemRandom().getrandbits(31))
    if grading.options.device == "cuda":
        # First as ever: what a file tunes or records at its first call of a shape, and keeps, must
        # not come from launches without effect.
        failure = try_case(grading, reseeded(spec.counted, grading.options.seed))
        if failure is not None:
            return with_case(failure, grading, spec.counted)
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        outputs = kernel.run_without_kernels(inputs)
    except KernelFailure as error:
        return with_case(error.failure, grading, case)
    if outputs is None:
        return None
    expected = trusted(lambda: expect(spec, case, inputs), "the reference", case)
    return no_kernel(spec, shares_right(expected, outputs, kernel.unwritten(outputs), inputs))


def try_case(grading: Grading, case: Case) -> Failure | None:
    """Run one case and compare; what is wrong, or None."""
    try:
        mismatch = check_case(grading, case)
    except KernelFailure as error:
        return error.failure
    return None if mismatch is None else failure_from(mismatch, grading.spec.backend)


def check_case(grading: Grading, case: Case) -> Mismatch | None:
    """Raises KernelFailure when the call itself goes wrong, BrokenExercise when the spec does."""
    kernel = grading.remote
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    outputs = kernel.run(inputs)
    expected = trusted(lambda: expect(grading.spec, case, inputs), "the reference", case)
    return first_mismatch(expected, outputs, kernel.unwritten(outputs))


def trusted(work: Callable[[], T], what: str, case: Case) -> T:
    """Run a function of the spec; whatever it raises is the exercise's fault."""
    try:
        return work()
    except GraderError:
        raise
    except torch.OutOfMemoryError as error:
        raise CannotGrade(
            f"The GPU has too little free memory for {what}: another program holds it ({error}).",
            "See who does with `nvidia-smi`, or grade without the GPU: --device cpu.",
        ) from None
    except Exception as error:
        raise BrokenExercise(
            f"The exercise is broken: {what} fails for {case}: {type(error).__name__}: {error}",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        ) from error


def failure_from(mismatch: Mismatch, backend: str) -> Failure:
    """A wrong answer in words."""
    hint = None
    if mismatch.kind == "never_written":
        reached = backends.find(backend).hints.reached
        begins = "random bits"
        if has_unused_nan(mismatch.dtype):
            begins = "NaN, which stays NaN whatever is added to it"
        hint = f"{reached} An output begins as {begins}."
    elif math.isnan(mismatch.got):
        hint = (
            "A NaN comes from 0 / 0, inf / inf, inf - inf, 0 * inf, or memory that was never "
            "written. Is a sum 0, or infinite, before something is divided by it?"
        )
    elif math.isinf(mismatch.got):
        hint = (
            "An infinity comes from a result too large for its type (exp(100) in float32, or a "
            "loop that runs too often), from a division by 0, or from a highest or lowest value "
            "that begins as one and is never replaced."
        )
    return Failure(
        kind=mismatch.kind,
        message=mismatch.message,
        expected=mismatch.expected_text,
        got=mismatch.got_text,
        where=f"{mismatch.where} ({mismatch.wrong:,} of {mismatch.total:,} elements)",
        hint=hint,
    )


def _finding(grading: Grading, tried: str, case: Case | None, failure: Failure | None) -> Finding:
    if failure is None:
        return Finding(tried)
    assert case is not None
    named = with_case(_with_question(failure, grading, case), grading, case)
    outcome = Outcome.NOT_STARTED if failure.kind == "not_started" else Outcome.FAIL
    return Finding(tried, named, outcome)


def _with_question(failure: Failure, grading: Grading, case: Case) -> Failure:
    """The failure with a closer hint, where the case shows a mistake that is known.

    It takes another call, which is worth its time only where a person will read of it.
    """
    options, spec = grading.options, grading.spec
    traceable = options.device == "cpu" and backends.find(spec.backend).can.trace_threads
    if failure.kind not in ("never_written", "value") or not traceable or not options.shrink:
        return failure
    kernel = grading.simulated
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        outputs, traced, failed = kernel.trace(inputs)
    except GraderError:  # the worker tells nothing, and what it did before is failed already
        return failure
    if failed is not None:  # of a call that comes out in another way than before
        return failure
    if failure.kind == "never_written":
        asked = _about_gaps(kernel.unwritten(outputs), traced)
    else:
        asked = _about_values(grading, case, inputs, outputs, traced)
    question = next(filter(None, asked), None)
    return failure if question is None else failure.model_copy(update={"hint": question})


def _about_gaps(gaps: Mapping[str, Tensor], traced: Traced) -> Iterator[str | None]:
    for name, gap in gaps.items():
        yield mistakes.of_gaps(name, gap, traced)


def _about_values(
    grading: Grading, case: Case, inputs: Inputs, outputs: Mapping[str, Tensor], traced: Traced
) -> Iterator[str | None]:
    expected = trusted(lambda: expect(grading.spec, case, inputs), "the reference", case)
    wrong = {name: ~right for name, right in right_elements(expected, outputs)}
    yield mistakes.of_indices(traced, wrong, list(map(printable, grading.source)))
    for name, answer in expected.answer.items():
        is_right = partial(right_of, expected, name)
        yield mistakes.of_values(name, outputs[name], answer, is_right, traced.launches)


def with_case(failure: Failure, grading: Grading, case: Case) -> Failure:
    """Add the case that shows the failure and the command that replays it."""
    named = failure.model_copy(update={"case": case.headline, "replay": grading.replay(case)})
    grading.failing[named] = case
    return named


def _settings(examples: int, *phases: Phase) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )


def _drawn(grading: Grading, count: int) -> tuple[Case | None, Failure | None]:
    """What Hypothesis finds wrong, as small as it can make it; (None, None) if nothing."""
    strategy = cases(grading.spec, roomy=grading.options.device == "cuda")
    phases = (Phase.generate, Phase.shrink) if grading.options.shrink else (Phase.generate,)
    seen: dict[Case, Failure] = {}
    settled = False  # by a failure that is not worth shrinking: Hypothesis would try it 15 times

    def fails(case: Case) -> bool:
        nonlocal settled
        if settled:
            return case in seen
        failure = try_case(grading, case)
        if failure is not None:
            seen[case] = failure
            settled = failure.kind in NOT_WORTH_SHRINKING
        return failure is not None

    try:
        smallest = hypothesis.find(
            strategy,
            fails,
            settings=_settings(count, *phases),
            random=random.Random(grading.options.seed),
        )
    except (hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky):
        # Seen to fail, but not again: a race, or memory read before it is written.
        return next(iter(seen.items()), (None, None))
    return smallest, seen[smallest]


def _smaller(grading: Grading, case: Case, failure: Failure) -> tuple[Case, Failure]:
    """The smallest case within SHRINK_S that fails in the same way, or the case itself."""
    deadline = time.monotonic() + SHRINK_S
    best = {case: failure}

    def fails(candidate: Case) -> bool:
        if time.monotonic() > deadline:
            return candidate in best
        found = try_case(grading, candidate)
        if found is None or found.kind != failure.kind:
            return False
        best[candidate] = found
        return True

    same_kind = replace(case, seed=0)
    strategy = cases(grading.spec, within=same_kind)
    try:
        smallest = hypothesis.find(
            strategy,
            fails,
            settings=_settings(40, Phase.generate, Phase.shrink),
            random=random.Random(grading.options.seed),
        )
    except (hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky):
        return case, failure
    return smallest, best[smallest]


def speed(grading: Grading) -> Finding:
    """The share of this GPU's ceiling that the kernel reaches."""
    if grading.options.device == "cpu":
        reason = "needs a CUDA GPU: this check was simulated on the CPU"
        outcome = Outcome.CANNOT_GRADE if grading.options.require_speed else Outcome.SKIP
        return Finding(reason, outcome=outcome)
    from grader.grading.steps import speed

    return speed.measure(grading)
