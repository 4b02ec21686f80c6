"""Python's `math` as numba compiles it for a GPU: float32 stays float32, and nothing raises.

A GPU gives NaN or an infinity where Python raises ValueError, OverflowError or ZeroDivisionError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

_FLOATS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "copysign": np.copysign,
    "cos": np.cos, "cosh": np.cosh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "fabs": np.fabs, "fmod": np.fmod, "hypot": np.hypot, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "pow": np.power, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "nextafter": np.nextafter,
    "ldexp": None, "degrees": np.degrees, "radians": np.radians,
}  # fmt: skip
# Numpy has none of these; Python's are computed as float64.
_OF_PYTHON = ("erf", "erfc", "gamma", "lgamma")


def as_float(value: Any) -> Any:
    """Return a number as the float that a function of `math` computes with."""
    if isinstance(value, np.floating):
        return value
    return np.float64(value)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*args: Any) -> Any:
        return function(*map(_number, args))

    return compute


def _number(value: Any) -> Any:
    if not isinstance(value, int | float | np.number | np.bool_):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return as_float(value)


def of_python(function: Callable[..., float]) -> Callable[..., Any]:
    """Make a function of Python's `math` give NaN or an infinity where it would raise."""

    def compute(*args: Any) -> Any:
        numbers = [_number(arg) for arg in args]
        dtype = np.result_type(*numbers)
        try:
            return dtype.type(function(*map(float, numbers)))
        except OverflowError:
            return dtype.type(math.inf)
        except (ValueError, ZeroDivisionError):
            return dtype.type(math.nan)

    return compute


def _whole(function: Callable[[float], int]) -> Callable[[Any], Any]:
    def compute(value: Any) -> Any:
        number = float(value)
        return function(number) if math.isfinite(number) else -(2**63)

    return compute


def _modf(value: Any) -> tuple[Any, Any]:
    fraction, whole = np.modf(_number(value))
    return fraction, whole


def _frexp(value: Any) -> tuple[Any, int]:
    fraction, exponent = np.frexp(_number(value))
    return fraction, int(exponent)


def _ldexp(value: Any, exponent: Any) -> Any:
    return np.ldexp(_number(value), int(exponent))


MATH = SimpleNamespace(**vars(math))
for _name, _function in _FLOATS.items():
    if _function is not None and hasattr(math, _name):
        setattr(MATH, _name, _elementwise(_function))
for _name in _OF_PYTHON:
    setattr(MATH, _name, of_python(getattr(math, _name)))
for _name in ("ceil", "floor", "trunc"):
    setattr(MATH, _name, _whole(getattr(math, _name)))
MATH.modf, MATH.frexp, MATH.ldexp = _modf, _frexp, _ldexp
