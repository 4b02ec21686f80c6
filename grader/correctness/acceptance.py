"""Compare an output with the reference.

The expected output is computed in float64 from the inputs as the kernel saw them. An element passes
when its error is at most

    max(4 · torch's own relative error, accumulation) · magnitude  +  max(r · ulp, tiny)

A row passes when the root mean square of its errors is at most

    max(4 · rms of torch's errors, accumulation · rms of magnitude)  +  max(0.6 · r · rms ulp, tiny)

Torch's own error is that of the same formula in float32. `ulp` is the spacing of the output's dtype
at the expected value. r is 2 for 16-bit outputs, because an honest kernel may round an intermediate
to the output's dtype, as torch's own operators do. For other outputs r is 1: no kernel computes in
8 bits. `magnitude` is the condition of the output (`spec.Tolerance`). `tiny` covers values that a
GPU may flush to zero, below float32's smallest normal number. Every other part scales with the
expected value, so zeros never pass.

`accumulation` is the error of a float32 sum of the n terms of one output:

    2⁻²⁴ · max(8 · √n, 3/8 · min(n, 8192))

- If rounding errors are independent, adding one term after the other loses less than
  3.7 · √n · 2⁻²⁴ (measured to n = 262,144).
- If terms repeat, all errors have one sign. A chain of c equal terms whose sum is S, between 2^k
  and 2^(k+1), rounds c · (1 - 2^k / S) times by at most 2^(k-24), and before that c · 2^k / S times
  by a third of it on average: relative to S at most 3/8 · c · 2⁻²⁴, reached at S = 4/3 · 2^k. For n
  of 456 and more, this is the larger of the two.
- No kernel needs a chain of more than 8192 terms: it adds up a row of 131,072 in 16 lanes or more.
  A larger limit would hide a sum in float16, which is off by 2⁻¹² and more.

At n = 131,072 that is 1.8e-4, far below what skipping 1 % of the terms costs.

Outputs of integers and bools accept no error: they are compared in int64.

Where an exercise declares that its output is one rounding of the exact result, an element passes
only if it is the nearest number of its dtype, or of the nearest float32's: a truncated one fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from grader.correctness.dtypes import (
    DTYPES,
    NAMES,
    has_unused_nan,
    is_whole,
    rounded,
    smallest,
    widened,
)
from grader.correctness.mismatch import Mismatch, worst_of
from grader.model import LARGEST, Argument, BrokenExercise, Case, Inputs, Spec

UNIT_ROUNDOFF = 2.0**-24  # of float32, in which kernels accumulate
SAFETY = 8.0
LONGEST_CHAIN = 8192  # terms that an honest kernel adds up one after the other
TORCH_FACTOR = 4.0


@dataclass(frozen=True)
class Expected:
    """The outputs that a kernel should write, and what their limits of error are made from.

    `in_float32` holds torch's outputs in float32. All others are float64, or int64 where an output
    holds integers.
    """

    outputs: Mapping[str, Tensor]
    in_float32: Mapping[str, Tensor]
    magnitude: Mapping[str, Tensor]
    terms: int
    exact: bool
    rounded_once: bool = False


def expect(spec: Spec, case: Case, inputs: Inputs) -> Expected:
    """Compute the outputs of a case from the judge's own copy of the inputs.

    Raises BrokenExercise when the reference returns other outputs than the kernel fills.
    """
    wide = _computed_in(torch.float64, inputs)
    outputs = spec.reference(wide)
    filled = {argument.name for argument in spec.arguments if argument.filled}
    if set(outputs) != filled:  # an output that is not compared would pass
        raise BrokenExercise(
            f"The exercise is broken: the reference returns {sorted(outputs)}, and the kernel "
            f"fills {sorted(filled)}.",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        )
    in_float32 = spec.reference(_computed_in(torch.float32, inputs))
    kinds = {a.name: output_dtype(a, inputs) for a in spec.arguments if a.filled}
    outputs = {name: _in_range(name, value, kinds[name]) for name, value in outputs.items()}
    sizes = {name: value.abs() for name, value in outputs.items()}
    if spec.tolerance.magnitude is not None:
        sizes |= spec.tolerance.magnitude(wide, outputs)
    return Expected(
        outputs=outputs,
        in_float32=in_float32,
        magnitude=sizes,
        terms=spec.tolerance.terms(case),
        exact=case.draw in spec.tolerance.exact,
        rounded_once=spec.tolerance.rounded_once,
    )


def output_dtype(argument: Argument, inputs: Inputs) -> torch.dtype:
    if argument.dtype is not None:
        return DTYPES[argument.dtype]
    like = inputs[argument.name if argument.role == "inout" else argument.like or ""]
    assert isinstance(like, Tensor)
    return like.dtype


def _in_range(name: str, values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the reference's output in float64, or in int64 for a dtype of integers.

    Raises BrokenExercise for a number that the dtype cannot hold.
    """
    if not is_whole(dtype):
        return values if has_unused_nan(values.dtype) else widened(values).double()
    whole = values.long() if values.is_floating_point() else widened(values)
    unfit = (whole < smallest(dtype)) | (whole > LARGEST[NAMES[dtype]])
    if values.is_floating_point():
        unfit |= whole.double() != values
    if bool(unfit.any()):
        first = values.flatten()[int(unfit.flatten().byte().argmax())].item()
        raise BrokenExercise(
            f"The exercise is broken: the reference writes {first} to {name}, which is {dtype}.",
            "Draw smaller numbers, or compute in the output's dtype, where sums wrap around.",
        )
    return whole


def _computed_in(dtype: torch.dtype, inputs: Inputs) -> dict[str, Tensor | float]:
    return {
        name: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }


def first_mismatch(
    expected: Expected, got: Mapping[str, Tensor], unwritten: Mapping[str, Tensor]
) -> Mismatch | None:
    """Compare the filled arguments. `unwritten` marks elements that still hold the poison."""
    return next((found for _, found in mismatches(expected, got, unwritten) if found), None)


def mismatches(
    expected: Expected, got: Mapping[str, Tensor], unwritten: Mapping[str, Tensor]
) -> Iterator[tuple[str, Mismatch | None]]:
    for name, answer in expected.outputs.items():
        found = compare(
            name,
            got[name],
            answer,
            own=expected.in_float32[name].double(),
            magnitude=expected.magnitude[name],
            terms=expected.terms,
            exact=expected.exact,
            rounded_once=expected.rounded_once,
            unwritten=unwritten.get(name),
        )
        yield name, found


def shares_right(
    expected: Expected,
    got: Mapping[str, Tensor],
    unwritten: Mapping[str, Tensor],
    inputs: Inputs,
) -> Iterator[tuple[str, float]]:
    """Yield the share of right elements, from 0 to 1, of each filled argument.

    Elements that would be right as zeros, or with the value they had before, are left out: they
    take no work. If none remain, the share is 0.
    """
    for name, answer in expected.outputs.items():
        limit = _limit(expected, name, got[name])
        takes_work = answer.abs() > limit if answer.is_floating_point() else answer != 0
        came_in = inputs.get(name)
        if isinstance(came_in, Tensor):
            takes_work &= ~_close(widened(came_in), answer, limit)
        right = _close(widened(got[name]), answer, limit)
        if name in unwritten:
            right &= ~unwritten[name]
        yield name, int((right & takes_work).sum()) / max(1, int(takes_work.sum()))


def right_elements(expected: Expected, got: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Mark the right elements of each filled argument, each element by itself."""
    for name in expected.outputs:
        yield name, right_of(expected, name, got[name])


def right_of(expected: Expected, name: str, got: Tensor) -> Tensor:
    return _close(widened(got), expected.outputs[name], _limit(expected, name, got))


def is_nearest(expected: Expected, name: str, got: Tensor) -> bool:
    """Say whether each element is the expected one, rounded to its dtype, or both are nearly 0."""
    answer = expected.outputs[name]
    if is_whole(got.dtype):
        return bool((widened(got) == answer).all())
    return bool((_is_nearest(got, answer) | _both_flushed(got, answer)).all())


def _is_one_rounding(got: Tensor, answer: Tensor) -> Tensor:
    """Mark elements that are the answer rounded to their dtype, directly or through float32."""
    through_float32 = _is_nearest(got, answer.float().double())
    return _is_nearest(got, answer) | through_float32 | _both_flushed(got, answer)


def _is_nearest(got: Tensor, answer: Tensor) -> Tensor:
    return got.double() == rounded(answer, got.dtype).double()


def _both_flushed(got: Tensor, answer: Tensor) -> Tensor:
    tiny = flushed_below(got.dtype)
    return (got.double().abs() < tiny) & (answer.abs() < tiny)


def _close(values: Tensor, answer: Tensor, limit: Tensor) -> Tensor:
    if not answer.is_floating_point():
        return values == answer
    same = (values == answer) | (values.isnan() & answer.isnan())
    return same | ((values - answer).abs() <= limit)


def _limit(expected: Expected, name: str, got: Tensor) -> Tensor:
    answer = expected.outputs[name]
    if expected.exact or is_whole(got.dtype):
        return torch.zeros_like(answer)
    own, size = expected.in_float32[name].double(), expected.magnitude[name]
    limit, _ = limits(got.dtype, answer, own, size, expected.terms)
    return limit


def compare(
    argument: str,
    got: Tensor,
    answer: Tensor,
    *,
    own: Tensor,
    magnitude: Tensor,
    terms: int,
    exact: bool = False,
    rounded_once: bool = False,
    unwritten: Tensor | None = None,
) -> Mismatch | None:
    """Return the worst element of `got` that is not acceptable, or None.

    `got` has the output's dtype. `answer`, `own` (torch's float32 output) and `magnitude` are
    float64 of the same shape. Integers accept no error, and their `answer` is int64.
    """
    candidate = widened(got)
    report = partial(worst_of, argument, got.dtype, candidate, answer)
    same = (candidate == answer) | (candidate.isnan() & answer.isnan())
    error = torch.where(same, 0.0, (candidate.double() - answer.double()).abs())
    if is_whole(got.dtype):  # two different integers may be the same float64
        error = torch.where(same, 0.0, error.clamp(min=1.0))
    if exact or is_whole(got.dtype):
        limit, rms_limit = torch.zeros_like(error), None
    else:
        limit, rms_limit = limits(got.dtype, answer, own, magnitude, terms)
    if unwritten is not None:
        missing = unwritten
        if not has_unused_nan(got.dtype):  # the poison may be the right value, or a wrong one
            bad = (error > limit) | candidate.isnan()
            missing = unwritten & bad & bool((unwritten | ~bad).all())
        if bool(missing.any()):
            return report("never_written", missing, missing)
    strange = ~same & (~candidate.isfinite() | ~answer.isfinite())
    if bool(strange.any()):
        return report("not_finite", strange, strange)
    wrong = error > limit
    if bool(wrong.any()):
        badness = torch.where(wrong, error / (limit + magnitude * UNIT_ROUNDOFF + 1e-300), 0.0)
        return report("value", wrong, badness, limit)
    if rms_limit is None:
        return None
    if rounded_once:
        wrong = ~same & ~_is_one_rounding(got, answer)
        return report("rounding", wrong, error * wrong) if bool(wrong.any()) else None
    bad_rows = (_rms(error) > rms_limit).expand_as(error)
    if bool(bad_rows.any()):
        return report("rms", bad_rows, error * bad_rows, limit)
    return None


def limits(
    dtype: torch.dtype, answer: Tensor, own: Tensor, magnitude: Tensor, terms: int
) -> tuple[Tensor, Tensor]:
    """Return the limit of each element's error, and of each row's root mean square."""
    roundings = 2.0 if dtype.itemsize == 2 else 1.0
    accumulation = UNIT_ROUNDOFF * max(SAFETY * math.sqrt(terms), 0.375 * min(terms, LONGEST_CHAIN))
    spacing = roundings * ulp(answer, dtype)
    tiny = flushed_below(dtype)
    # If torch overflows in float32, or flushes tiny values, that must not loosen the limit.
    own_error = torch.where(own.isfinite(), (own - answer).abs(), 0.0)
    own_error = (own_error - flushed_below(torch.float32)).clamp(min=0.0)
    relative = torch.where(magnitude > 0, own_error / magnitude, 0.0)
    worst = relative.amax(-1, keepdim=True) if relative.ndim else relative
    limit = (TORCH_FACTOR * worst).clamp(min=accumulation) * magnitude
    rms_limit = torch.maximum(TORCH_FACTOR * _rms(own_error), accumulation * _rms(magnitude))
    return limit + spacing.clamp(min=tiny), rms_limit + (0.6 * _rms(spacing)).clamp(min=tiny)


def _rms(values: Tensor) -> Tensor:
    # Scaled first, because the square of a tiny error underflows in float64.
    scale = values.abs().amax(-1, keepdim=True).clamp(min=1e-300)
    return scale * (values / scale).square().mean(-1, keepdim=True).sqrt()


def ulp(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the spacing of `dtype`, subnormals included, at each of the float64 `values`."""
    info = torch.finfo(dtype)
    _, exponent = torch.frexp(values)
    spacing = torch.ldexp(torch.full_like(values, info.eps), exponent - 1)
    return torch.where(values == 0, 0.0, spacing).clamp(min=info.smallest_normal * info.eps)


def flushed_below(dtype: torch.dtype) -> float:
    """Return the magnitude below which a right output may be zero.

    float32 arithmetic on a GPU may flush subnormals. Those of float16 and of 8-bit floats are
    ordinary float32 numbers, so only the rounding to the smallest of them is lost.
    """
    info = torch.finfo(dtype)
    ordinary = info.smallest_normal > torch.finfo(torch.float32).smallest_normal
    return info.smallest_normal * (info.eps if ordinary else 1.0)


def eps(dtype: str) -> float:
    """Return the spacing of a dtype's numbers at 1.0."""
    return float(torch.finfo(DTYPES[dtype]).eps)
