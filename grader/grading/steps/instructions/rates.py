"""The findings of the step `instructions`, counted in the code that the judge itself compiled.

A kernel is one text for all its elements, so the arithmetic of the text is divided by the elements
that one thread stores in it. docs/instructions.md says what this misses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.grading import compiling
from grader.grading.compiling import Built, Code, Fault, Job, Missing, Refusal, TooLong
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.instructions import counted_target
from grader.model import (
    ITEMSIZE,
    Failure,
    Frame,
    GraderError,
    Instructions,
    Outcome,
    Specialisation,
)
from grader.sandbox import KernelFailure, NotSimulated


@dataclass(frozen=True)
class Rate:
    """A kernel's instructions of arithmetic for each element, or why they are not counted."""

    kernel: str
    dtype: str
    trial: bool
    value: Fraction | None = None
    reason: str = ""


def instructions(grading: Grading) -> Finding:
    """Compare the arithmetic of each launched kernel with the spec's limit.

    Raises GraderError for a spec without one: nothing passes by default.
    """
    limit, target = grading.spec.instructions, counted_target(grading.spec)
    if limit is None:
        raise GraderError("The spec limits no instructions.")
    try:
        launched: Mapping[str, Sequence[Specialisation]] = grading.once(compiling.launched)
    except (NotSimulated, KernelFailure) as error:
        what = error.what if isinstance(error, NotSimulated) else error.failure.message
        return _skipped(f"not simulated: {what}")
    jobs = [
        Job(dtype, kernel, target, required=True)
        for dtype, kernels in launched.items()
        for kernel in kernels
    ]
    if not jobs:
        return _skipped("no kernel was launched")
    built = compiling.build(grading.spec.backend, jobs)
    rates = [_rate(grading, job, one) for job, one in zip(jobs, built, strict=True)]
    return _judged(grading, limit, target, rates)


def _judged(grading: Grading, limit: Instructions, target: int, rates: Sequence[Rate]) -> Finding:
    """Judge the worst kernel; of forms that a tuner tried, the best counts."""
    chosen = [rate for rate in rates if not rate.trial]
    tried: dict[tuple[str, str], list[Rate]] = {}
    for rate in rates:
        if rate.trial:
            tried.setdefault((rate.dtype, rate.kernel), []).append(rate)
    for forms in tried.values():
        chosen.append(min(forms, key=lambda form: (form.value is None, form.value or 0)))
    worst = max(chosen, key=lambda rate: rate.value or 0)
    if worst.value is not None and worst.value > limit.most:
        return Finding(
            f"sm_{target}: {words(worst.value)} an element, {limit.most:g} are enough",
            _failure(grading, limit, target, worst),
            Outcome.FAIL,
        )
    uncounted = next((rate for rate in chosen if rate.value is None), None)
    if uncounted is not None:
        return _skipped(f"{uncounted.kernel} for {uncounted.dtype}: {uncounted.reason}")
    assert worst.value is not None
    return Finding(
        f"sm_{target}: {words(worst.value)} of arithmetic an element ({worst.dtype}), at most "
        f"{limit.most:g}"
    )


def words(value: Fraction) -> str:
    """Write `13.1 instructions`."""
    return f"{float(value):.1f} instructions".replace(".0 ", " ")


def _rate(grading: Grading, job: Job, built: Built) -> Rate:
    rate = Rate(job.kernel.kernel, job.dtype, job.kernel.trial)
    if not isinstance(built, Code):
        return _with(rate, reason=_why(built, job.target))
    if built.arithmetic is None:
        return _with(rate, reason=f"code for sm_{job.target} is not decoded")
    filled = [a for a in grading.spec.arguments if a.filled]
    size = sum(ITEMSIZE[a.dtype or job.dtype] for a in filled)  # bytes of one element of each
    stored = sum(bits * number for bits, number in built.stores)  # bits
    if not stored:
        return _with(rate, reason="it has no plain store, by which elements are counted")
    return _with(rate, value=Fraction(8 * size * built.arithmetic, stored))


def _with(rate: Rate, value: Fraction | None = None, reason: str = "") -> Rate:
    return Rate(rate.kernel, rate.dtype, rate.trial, value, reason)


def _why(built: Built, target: int) -> str:
    if isinstance(built, Refusal):
        return f"it does not compile for sm_{target}: {built.error}"
    if isinstance(built, Missing):
        return f"{built.tool} is missing"
    if isinstance(built, TooLong):
        return f"it did not compile within {built.seconds:.0f} s"
    if isinstance(built, Fault):
        return "the compiler's process failed, which is no fault of the kernel"
    return "not tried: other compilations took too long"


def _skipped(reason: str) -> Finding:
    return Finding(f"not counted: {reason}", outcome=Outcome.SKIP)


def _failure(grading: Grading, limit: Instructions, target: int, rate: Rate) -> Failure:
    assert rate.value is not None
    return Failure(
        kind="instructions",
        message=f"{rate.kernel} for {rate.dtype} has {words(rate.value)} of arithmetic for each "
        f"element that it stores, compiled for sm_{target}, where {limit.most:g} are enough",
        expected=f"at most {limit.most:g}",
        got=f"{float(rate.value):.1f}",
        frames=_frames(grading.source, limit.near),
        hint=limit.hint,
    )


def _frames(source: Sequence[str], near: Sequence[str]) -> tuple[Frame, ...]:
    for pattern in near:
        for number, line in enumerate(source, start=1):
            if re.search(pattern, line.partition("#")[0]):
                return (Frame(line=number, function="", code=line.strip()),)
    return ()
