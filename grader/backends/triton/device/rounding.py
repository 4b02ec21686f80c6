"""Casts of floats, as PTX's `cvt` makes them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device.integers import as_integers
from grader.backends.triton.device.values import FLOAT8


def to_float(value: Tensor, dtype: torch.dtype, *, towards_zero: bool = False) -> Tensor:
    """Cast floats to another type, and round to the nearest number, ties to even.

    What is too large for a float8 becomes the largest number, infinity included.
    """
    if dtype.itemsize >= value.dtype.itemsize:
        return value.to(dtype)
    if dtype in FLOAT8:
        return _saturated(value, dtype, towards_zero)
    nearest = _nearest(value, dtype)
    return _stepped_back(value, nearest) if towards_zero else nearest


def _saturated(value: Tensor, dtype: torch.dtype, towards_zero: bool) -> Tensor:
    largest = torch.finfo(dtype).max
    within = value.clamp(-largest, largest)  # NaN stays
    nearest = within.to(dtype)
    return _stepped_back(within, nearest) if towards_zero else nearest


def _nearest(value: Tensor, dtype: torch.dtype) -> Tensor:
    if value.dtype != torch.float64 or dtype == torch.float32:
        return value.to(dtype)
    # torch rounds float64 to float32 first, and the second rounding can go the wrong way.
    if dtype == torch.float16:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return torch.from_numpy(value.numpy().astype(np.float16))
    return _to_odd(value).to(dtype)


def _to_odd(value: Tensor) -> Tensor:
    """Round float64 to float32, and to an odd last bit where it is inexact.

    A second rounding, to a type with fewer bits, is then as if it were the only one.
    """
    below = _stepped_back(value, value.to(torch.float32))
    inexact = (below.to(torch.float64) != value) & torch.isfinite(value)
    bits = below.view(torch.int32)
    return torch.where(inexact, bits | 1, bits).view(torch.float32)


def _stepped_back(value: Tensor, nearest: Tensor) -> Tensor:
    """Return the next number towards zero wherever `nearest` was rounded away from zero."""
    away = nearest.to(torch.float64).abs() > value.to(torch.float64).abs()
    bits = as_integers(nearest)
    return torch.where(away, bits - 1, bits).view(nearest.dtype)


def ties_away(value: Tensor) -> Tensor:
    """Round to whole numbers, ties away from zero."""
    whole = value.trunc()
    return torch.where((value - whole).abs() >= 0.5, whole + value.sign(), whole)


def square_root(value: Tensor) -> Tensor:
    """Return the root, rounded to the nearest: torch's is off by a bit in one case of five."""
    wide = value.double() if value.dtype == torch.bfloat16 else value
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.sqrt(wide.contiguous().numpy())).to(value.dtype)


def to_integer(value: Tensor, dtype: torch.dtype, *, unsigned: bool) -> Tensor:
    """Cast floats to integers, rounded towards zero; one beyond the range becomes the nearest.

    PTX converts to 16 bits at least, so an i8 has the low bits of an i16. A NaN becomes 0; where
    source or result has 64 bits, only the highest bit is set.
    """
    bits = max(16, torch.iinfo(dtype).bits)
    whole = value.to(torch.float64).trunc()
    low, high = (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    inside = (whole >= low) & (whole < high)
    result = _bits_of_whole(torch.where(inside, whole, 0.0))
    largest = -1 if bits == 64 and unsigned else int(high) - 1
    result = torch.where(whole >= high, largest, result)
    result = torch.where(whole < low, int(low), result)
    # 1 << 63 does not fit into int64, and all narrower ones wrap to the highest bit of their type.
    highest = -(1 << 63) if bits == 64 else 1 << (bits - 1)
    of_nan = highest if bits == 64 or value.dtype == torch.float64 else 0
    return torch.where(torch.isnan(value), of_nan, result).to(dtype)


def _bits_of_whole(whole: Tensor) -> Tensor:
    """Return int64 with the bits of whole numbers from -2**63 up to 2**64."""
    upper = whole >= 2.0**63
    lower = torch.where(upper, whole - 2.0**63, whole).to(torch.int64)
    return torch.where(upper, lower ^ -(1 << 63), lower)
