"""Bits of whole numbers, as cuda.popc and its like see them.

A whole number from Python's text has 64 bits, as numba has it; one from an array those of its
dtype, and a mask of a warp's lanes 32.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np


class Mask(int):
    """A mask of lanes: 32 bits until something is computed with it, like numba's int32."""

    @classmethod
    def signed(cls, value: int) -> Mask:
        value &= 0xFFFFFFFF
        return cls(value - (1 << 32) if value >> 31 else value)


def _width(value: Any) -> int:
    if isinstance(value, Mask):
        return 32
    if isinstance(value, np.integer):
        return value.dtype.itemsize * 8
    if isinstance(value, int):
        return 64
    raise TypeError(f"a whole number is needed, not {value}")


def _bits(value: Any) -> tuple[int, int]:
    """Return the bits of a whole number, as a number from 0, and how many there are."""
    width = _width(value)
    return int(value) & ((1 << width) - 1), width


def popc(value: Any) -> int:
    return _bits(value)[0].bit_count()


def ffs(value: Any) -> int:
    """Return the position of the lowest set bit, counted from 1; 0 if no bit is set."""
    bits, _ = _bits(value)
    return (bits & -bits).bit_length()


def clz(value: Any) -> int:
    bits, width = _bits(value)
    return width - bits.bit_length()


def brev(value: Any) -> int:
    bits, width = _bits(value)
    return int(f"{bits:0{width}b}"[::-1], 2)


def wrapped(value: Any, dtype: np.dtype[Any]) -> Any:
    """Convert to a dtype as a GPU does: whole numbers beyond its range wrap around."""
    if dtype.kind in "iu" and not isinstance(value, np.integer):
        if isinstance(value, float | np.floating) and not math.isfinite(value):
            value = 0
        whole = int(value) & ((1 << dtype.itemsize * 8) - 1)
        return np.array(whole, f"u{dtype.itemsize}").view(dtype)[()]
    return np.asarray(value).astype(dtype)[()]


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, rounded once."""
    dtype = np.result_type(*(x if isinstance(x, np.floating) else np.float64(x) for x in (a, b, c)))
    if not all(math.isfinite(x) for x in (a, b, c)):
        return dtype.type(a) * dtype.type(b) + dtype.type(c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return _nearest(exact, dtype)


def _nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """Round once: to float64, and from there only where that is not halfway between two float32."""
    try:
        rounded = np.float64(exact.numerator / exact.denominator)
    except OverflowError:
        return dtype.type(math.copysign(math.inf, exact))
    if dtype == np.float64:
        return rounded
    near = dtype.type(rounded)
    for other in (np.nextafter(near, dtype.type(-np.inf)), np.nextafter(near, dtype.type(np.inf))):
        if np.isfinite(other) and np.isfinite(near):
            distance = abs(Fraction(float(other)) - exact)
            if distance < abs(Fraction(float(near)) - exact):
                near = other
    return near
