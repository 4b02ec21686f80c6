"""Arithmetic that rounds down, up or towards zero, exact: a number at a time, since it is rare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

Direction = Literal["rd", "ru", "rz"]
DIRECTIONS: Mapping[str, Direction] = {"rd": "rd", "ru": "ru", "rz": "rz"}
# Returns the exact result, or None if it is not a finite number.
Exact = Callable[..., Fraction | None]

_OVERFLOW = Fraction(2) ** 1024 - Fraction(2) ** 970  # from here on float64 is infinite


def rounded(exact: Exact, nearest: Tensor, operands: Sequence[Tensor], to: Direction) -> Tensor:
    """Round the results of `exact` in the direction `to`; `nearest` has them rounded to nearest."""
    shape = np.broadcast_shapes(nearest.shape, *(each.shape for each in operands))
    columns = [each.expand(shape).reshape(-1).tolist() for each in operands]
    found = nearest.expand(shape).reshape(-1)
    numbers = found.numpy().copy()
    for i, values in enumerate(zip(*columns, strict=True)):
        if all(math.isfinite(value) for value in values):
            result = exact(*values)
            if result is not None:
                numbers[i] = _stepped(numbers[i], result, to)
    return torch.from_numpy(numbers).view(shape)


def _stepped(nearest: Any, exact: Fraction, to: Direction) -> Any:
    """Round `exact` in the direction `to`; `nearest` is the nearest representable number."""
    if to == "rz":
        to = "rd" if exact > 0 else "ru"
    sign = 1 if to == "rd" else -1
    away, back = nearest.dtype.type(sign * np.inf), nearest.dtype.type(-sign * np.inf)
    candidate = nearest
    if sign * _compared(candidate, exact) > 0:
        return np.nextafter(candidate, back)
    further = np.nextafter(candidate, away)
    return further if sign * _compared(further, exact) <= 0 else candidate


def _compared(number: Any, exact: Fraction) -> int:
    if np.isinf(number):
        return 1 if number > 0 else -1
    difference = Fraction(float(number)) - exact
    return (difference > 0) - (difference < 0)


def add(a: float, b: float) -> Fraction | None:
    return Fraction(a) + Fraction(b)


def subtract(a: float, b: float) -> Fraction | None:
    return Fraction(a) - Fraction(b)


def multiply(a: float, b: float) -> Fraction | None:
    return Fraction(a) * Fraction(b)


def divide(a: float, b: float) -> Fraction | None:
    return Fraction(a) / Fraction(b) if b else None


def reciprocal(a: float) -> Fraction | None:
    return 1 / Fraction(a) if a else None


def fused(a: float, b: float, c: float) -> Fraction | None:
    return Fraction(a) * Fraction(b) + Fraction(c)


def same(a: float) -> Fraction | None:
    return Fraction(a)


def square_root(a: float) -> Fraction | None:
    """Return the root to 120 bits or more; one further bit is set if that is not exact."""
    if a < 0:
        return None
    value = Fraction(a)
    scale = 1 << 1200  # the square of 2**600: the root of the least float64 has 120 bits and more
    scaled = value.numerator * scale * scale // value.denominator
    root = math.isqrt(scaled)
    inexact = root * root != scaled or scaled * value.denominator != value.numerator * scale * scale
    return Fraction(2 * root + inexact, 2 * scale)


def nearest_fused(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Multiply and add float64 with one rounding, to the nearest."""
    rough = a * b + c
    columns = [each.expand(rough.shape).reshape(-1).tolist() for each in (a, b, c)]
    numbers = rough.reshape(-1).tolist()
    for i, values in enumerate(zip(*columns, strict=True)):
        if all(math.isfinite(value) for value in values):
            exact = fused(*values)
            if exact and abs(exact) < _OVERFLOW:
                numbers[i] = float(exact)  # Python divides integers with one rounding
    return torch.tensor(numbers, dtype=torch.float64).view(rough.shape)
