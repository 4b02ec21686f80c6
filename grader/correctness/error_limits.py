"""The limits of an output's error, as `acceptance.py` derives them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.correctness.dtypes import DTYPES

UNIT_ROUNDOFF = 2.0**-24  # of float32, in which kernels accumulate
SAFETY = 8.0
LONGEST_CHAIN = 8192  # terms that an honest kernel adds up one after the other
TORCH_FACTOR = 4.0
BELOW = 0.99  # of a limit: more than rounding in float64 moves it


def limits(
    dtype: torch.dtype, answer: Tensor, own: Tensor, magnitude: Tensor, terms: int
) -> tuple[Tensor, Tensor]:
    """Return the limit of each element's error, and of each row's root mean square."""
    roundings = 2.0 if dtype.itemsize == 2 else 1.0
    least = accumulation(terms)
    spacing = roundings * ulp(answer, dtype)
    tiny = flushed_below(dtype)
    # If torch overflows in float32, or flushes tiny values, that must not loosen the limit.
    own_error = torch.where(own.isfinite(), (own - answer).abs(), 0.0)
    own_error = (own_error - flushed_below(torch.float32)).clamp(min=0.0)
    relative = torch.where(magnitude > 0, own_error / magnitude, 0.0)
    worst = relative.amax(-1, keepdim=True) if relative.ndim else relative
    limit = (TORCH_FACTOR * worst).clamp(min=least) * magnitude
    rms_limit = torch.maximum(TORCH_FACTOR * rms(own_error), least * rms(magnitude))
    return limit + spacing.clamp(min=tiny), rms_limit + (0.6 * rms(spacing)).clamp(min=tiny)


def surely_within(
    error: Tensor, dtype: torch.dtype, answer: Tensor, magnitude: Tensor, terms: int
) -> bool:
    """Report whether errors are below a part of both limits that takes no time to compute.

    An ulp is at least half of eps times the value, and the root of a mean of squares grows with
    each of them. What is not surely within may be within `limits`.
    """
    roundings = 2.0 if dtype.itemsize == 2 else 1.0
    spacing = 0.5 * roundings * torch.finfo(dtype).eps
    least = accumulation(terms) * magnitude + 0.6 * spacing * answer.abs()
    return bool(((error <= BELOW * least) & (error < math.inf)).all())


def accumulation(terms: int) -> float:
    """Return the error of a float32 sum of so many terms, as a part of its magnitude."""
    return UNIT_ROUNDOFF * max(SAFETY * math.sqrt(terms), 0.375 * min(terms, LONGEST_CHAIN))


def rms(values: Tensor) -> Tensor:
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


def close(values: Tensor, answer: Tensor, limit: Tensor) -> Tensor:
    if not answer.is_floating_point():
        return values == answer
    same = (values == answer) | (values.isnan() & answer.isnan())
    return same | ((values - answer).abs() <= limit)
