"""Trial of one case: the call, the comparison with the reference, and the failure in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import torch
from torch import Tensor

from grader import backends
from grader.correctness import (
    Mismatch,
    expect,
    first_mismatch,
    has_unused_nan,
    name_origin,
    numbers_of,
    small_inputs,
)
from grader.grading.session import Grading
from grader.machine import gpu_is_lost, is_full_disk, is_out_of_memory
from grader.model import BrokenExercise, CannotGrade, Case, Failure, GraderError, Inputs, Numbers
from grader.sandbox import KernelFailure

T = TypeVar("T")

# Failures of an access; an index that nothing had written may be why.
AT_AN_ADDRESS = ("misaligned", "out_of_bounds", "wrapped_offset")


def try_case(grading: Grading, case: Case) -> Failure | None:
    """Run one case; return what is wrong, with the numbers of that call."""
    kernel = grading.remote
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        found = _compared(grading, case, inputs)
        if found is not None and _may_be_chance(found[0]):
            found = _compared(grading, case, inputs) or found
    except KernelFailure as error:
        failure = with_inputs(error.failure, grading, inputs)
        return _with_origin(failure, grading) if failure.kind in AT_AN_ADDRESS else failure
    if found is None:
        return None
    mismatch, numbers = found
    return _with_origin(failure_from(mismatch, grading.spec.backend, numbers), grading, mismatch)


def _compared(
    grading: Grading, case: Case, inputs: dict[str, Tensor | float]
) -> tuple[Mismatch, Numbers] | None:
    """Call the kernel and compare; raises KernelFailure for a call that fails."""
    kernel = grading.remote
    outputs = kernel.run(inputs)
    unwritten = kernel.unwritten(outputs)
    expected = trusted(lambda: expect(grading.spec, case, inputs), "the reference", case)
    mismatch = first_mismatch(expected, outputs, unwritten)
    if mismatch is None:
        return None
    return mismatch, numbers_of(grading.spec, inputs, expected, outputs, unwritten)


def _may_be_chance(mismatch: Mismatch) -> bool:
    """Say whether the kernel may have written the very bits that the output began with.

    One int8 begins as what a kernel writes in one of 256 calls. Another call begins with others.
    """
    return mismatch.kind == "never_written" and not has_unused_nan(mismatch.dtype)


def with_inputs(failure: Failure, grading: Grading, inputs: Inputs) -> Failure:
    """Add small inputs to a failed access, for an index may come from them."""
    if failure.kind not in (*AT_AN_ADDRESS, "stray_write"):
        return failure
    return failure.model_copy(update={"numbers": small_inputs(grading.spec, inputs)})


def _with_origin(failure: Failure, grading: Grading, mismatch: Mismatch | None = None) -> Failure:
    """Give the failure a closer hint where the call used undefined values."""
    hint = name_origin(grading.remote.origins(), grading.source, mismatch)
    return failure if hint is None else failure.model_copy(update={"hint": hint})


def with_last_run(failure: Failure, grading: Grading) -> Failure:
    """Add the numbers of the last call that a test made, where the reference has an output for it.

    The expected values are the reference's, also where the test holds the kernel to a law.
    """
    run, case = grading.remote.last_run, grading.remote.last_case
    if run is None or case is None:
        return failure
    with suppress(Exception):  # a test may call the kernel with inputs that no case has
        expected = expect(grading.spec, case, run.inputs)
        numbers = numbers_of(grading.spec, run.inputs, expected, run.outputs, run.unwritten)
        return failure.model_copy(update={"numbers": numbers})
    return failure


def trusted(work: Callable[[], T], what: str, case: Case) -> T:
    """Run a function of the spec; whatever it raises is the exercise's fault.

    But for a machine without enough memory, or a GPU that is lost.
    """
    try:
        return work()
    except GraderError:
        raise
    except torch.OutOfMemoryError as error:
        raise CannotGrade(
            f"The GPU has too little free memory for {what}: another program holds it ({error}).",
            "`nvidia-smi` lists it. Or grade without the GPU: --device cpu.",
        ) from None
    except Exception as error:
        if is_full_disk(error) or (gpu_is_lost(error) and not _is_of_the_spec(error)):
            raise
        if is_out_of_memory(error):
            raise no_memory_for(what) from None
        raise BrokenExercise(
            f"The exercise is broken: {what} fails for {case}: {type(error).__name__}: {error}",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        ) from error


def _is_of_the_spec(error: Exception) -> bool:
    """Report whether torch's error on CUDA comes from what a spec asks of it, not from the GPU."""
    return not torch.cuda.is_initialized() or "device-side assert" in str(error)


def no_memory_for(what: str) -> CannotGrade:
    return CannotGrade(
        f"This machine has too little free memory for {what}.",
        "`top` lists which programs hold it. Check again without them.",
    )


def failure_from(mismatch: Mismatch, backend: str, numbers: Numbers | None = None) -> Failure:
    hint = cause = None
    if mismatch.kind == "never_written":
        reached = backends.find(backend).hints.reached
        begins = "random bits"
        if has_unused_nan(mismatch.dtype):
            begins = "NaN, which stays NaN whatever is added to it"
        hint = f"{reached} An output begins as {begins}."
    elif mismatch.kind == "rounding":
        hint = (
            "Compute in float32 and let the store round, once and to the nearest number: no "
            "conversion to fewer bits in between, and none that cuts bits off."
        )
    elif mismatch.kind == "share":
        cause = "wrong_share"
        hint = (
            "A number that is uniform in [0, 1) is below p with the probability p: is the "
            "comparison the other way round, or another p used?"
        )
    elif math.isnan(mismatch.got):
        hint = (
            "A NaN comes from 0 / 0, inf / inf, inf - inf, 0 * inf, or memory that was never "
            "written. Does a factor or a difference have an infinity in it, such as a maximum that "
            "begins as -inf? Is a sum 0, or infinite, before something is divided by it?"
        )
    elif math.isinf(mismatch.got):
        hint = (
            "An infinity comes from a result too large for its type (exp(100) in float32, or a "
            "loop that runs too often), from a division by 0, from a highest or lowest value "
            "that begins as one and is never replaced, or from -inf that enters a sum or a minimum."
        )
    return Failure(
        kind=mismatch.kind,
        message=mismatch.message,
        expected=mismatch.expected_text,
        got=mismatch.got_text,
        where=f"{mismatch.where} ({mismatch.wrong:,} of {mismatch.total:,} elements)",
        hint=hint,
        cause=cause,
        numbers=numbers,
    )


def with_case(failure: Failure, grading: Grading, case: Case) -> Failure:
    """Add the case that shows the failure and the command that replays it."""
    named = failure.model_copy(update={"case": case.headline, "replay": grading.replay(case)})
    grading.failing[named] = case
    return named
