"""bfloat16, which numpy lacks: the upper half of a float32, and kept as uint16."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from numpy.typing import NDArray

from grader.backends.triton.simulator.internals import Handle


def from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the float32 of the same value: exact, NaN payloads included."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Round once, to nearest, ties to even, as a GPU converts; a NaN stays a NaN.

    `values` are of any real dtype. (int64 beyond 2**53 is rounded to float64 first.)
    """
    if values.dtype != np.float32:
        values = round_to_odd(values.astype(np.float64))
    bits = values.view(np.uint32)
    upper = bits >> np.uint32(16)
    # Adding just under half, and one more if the upper half is odd, carries exactly when the
    # nearest upper half (the even one of two) is the next one. Overflow carries into Inf.
    rounded = (bits + np.uint32(0x7FFF) + (upper & np.uint32(1))) >> np.uint32(16)
    quiet = upper | np.uint32(0x0040)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def round_to_odd(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float64 to float32 such that rounding that to bfloat16 is as good as rounding once.

    Truncates, and sets the last bit if anything was lost: a value just beside a tie of bfloat16
    then never becomes the tie. (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008.)
    """
    near = values.astype(np.float32)
    wide = near.astype(np.float64)
    bits = near.view(np.uint32)
    too_large = np.abs(wide) > np.abs(values)
    inexact = (wide != values) & ~np.isnan(values)
    odd = (bits - too_large.astype(np.uint32)) | np.uint32(1)
    return np.where(inexact, odd, bits).view(np.float32)


def is_bfloat16(handle: Any) -> bool:
    return bool(handle.dtype.scalar == tl.bfloat16)


def widen(handle: Any) -> Any:
    """Convert bfloat16 to float32, and return anything else as it is."""
    return Handle(from_bfloat16(handle.data), tl.float32) if is_bfloat16(handle) else handle


def narrow(handle: Any) -> Any:
    """Convert to bfloat16, and round each value once."""
    return Handle(to_bfloat16(np.asarray(handle.data)), tl.bfloat16)
