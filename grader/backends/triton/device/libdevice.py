"""The functions of NVIDIA's libdevice, by what follows `__nv_` in their names.

Functions of floats are computed in float64, and rounded once to the type of the result; a last `f`
in a name stands for float32, and `fast_` for less precision than we have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device import directed, integers, rounding
from grader.backends.triton.device.faults import NotSimulated
from grader.backends.triton.device.libdevice_bits import BITS

Function = Callable[..., Tensor]
HIGHEST_ORDER = 1000  # of Bessel functions: each order below costs a step


def find(symbol: str, dtype: torch.dtype) -> Function | None:
    """Return the function of a symbol whose results have a dtype, or None for an unknown one."""
    if not symbol.startswith("__nv_"):
        return None
    name = symbol.removeprefix("__nv_")
    special = BITS.get(name)
    if special is not None:
        return special
    function = _directed(name, dtype) or _conversion(name, dtype)
    if function is not None:
        return function
    name = name.removeprefix("fast_")
    floats = FLOATS.get(name) or FLOATS.get(name.removesuffix("f"))
    return None if floats is None else _of_floats(floats, dtype)


def _of_floats(function: Function, dtype: torch.dtype) -> Function:
    def compute(*operands: Tensor) -> Tensor:
        wide = [each.double() if each.dtype.is_floating_point else each for each in operands]
        result = function(*wide)
        if not dtype.is_floating_point:
            return result.to(dtype)
        return rounding.to_float(result, dtype)

    return compute


def _each(function: Callable[..., float]) -> Function:
    """Apply a function of Python's floats, which raises where C's returns NaN or infinity."""

    def compute(*operands: Tensor) -> Tensor:
        wide = torch.broadcast_tensors(*operands)
        rows = zip(*(each.reshape(-1).tolist() for each in wide), strict=True)
        return torch.tensor([function(*row) for row in rows], dtype=torch.float64).view(
            wide[0].shape
        )

    return compute


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


def _cube_root(x: Tensor) -> Tensor:
    return torch.from_numpy(np.cbrt(x.numpy()))


def _sine_of_pi(x: Tensor) -> Tensor:
    return torch.sin(torch.fmod(x, 2.0) * math.pi).where(x != x.trunc(), 0.0 * x)


def _cosine_of_pi(x: Tensor) -> Tensor:
    reduced = torch.remainder(x, 2.0)
    half = (reduced == 0.5) | (reduced == 1.5)
    return torch.cos(reduced * math.pi).where(~half, 0.0)


def _scaled(x: Tensor, n: Tensor) -> Tensor:
    wide, exponents = torch.broadcast_tensors(x, n.clamp(-5000, 5000))
    with np.errstate(over="ignore", under="ignore"):
        return torch.from_numpy(np.ldexp(wide.numpy(), exponents.to(torch.int32).numpy()))


def _exponent(x: Tensor) -> Tensor:
    """Return the exponent as a float: infinite for zero and infinity."""
    exponent = (torch.frexp(x).exponent - 1).double()
    exponent = torch.where(x == 0, -math.inf, exponent)
    exponent = torch.where(x.isinf(), math.inf, exponent)
    return torch.where(x.isnan(), math.nan, exponent)


def _whole_exponent(x: Tensor) -> Tensor:
    exponent = _exponent(x).nan_to_num(nan=-(2.0**31), posinf=2.0**31 - 1, neginf=-(2.0**31))
    return exponent.to(torch.int32)


def _bessel(first: Function, second: Function, backwards: bool) -> Function:
    def compute(n: Tensor, x: Tensor) -> Tensor:
        if int(n.max()) > HIGHEST_ORDER:
            raise NotSimulated(f"Bessel functions of an order above {HIGHEST_ORDER}")
        order, x = torch.broadcast_tensors(n, x)
        before, now = first(x), second(x)
        result = torch.where(order == 0, before, now)
        result = torch.where(order < 0, math.nan, result)
        for k in range(1, int(order.max())):
            before, now = now, 2 * k / x * now - before
            result = torch.where(order == k + 1, now, result)
        if backwards:  # above x the forward recurrence loses all digits
            small = (order > x.abs()) & (order > 1)
            result = torch.where(small, _bessel_by_series(order, x), result)
        return result

    return compute


def _bessel_by_series(order: Tensor, x: Tensor) -> Tensor:
    half = x / 2
    term = torch.exp(order * half.abs().log() - torch.lgamma(order.double() + 1))
    term = torch.where((x < 0) & (order % 2 == 1), -term, term)
    total = term.clone()
    for k in range(1, 200):
        term = -term * half * half / (k * (k + order))
        total = total + term
    return total


def _norm(*parts: Tensor) -> Tensor:
    largest = torch.stack(torch.broadcast_tensors(*parts)).abs().amax(0)
    scale = torch.where((largest > 0) & torch.isfinite(largest), largest, 1.0)
    total = sum((part / scale) ** 2 for part in parts)
    assert isinstance(total, Tensor)
    return total.sqrt() * scale


def _inverse_of_norm(*parts: Tensor) -> Tensor:
    return 1 / _norm(*parts)


def _fused(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    if all(torch.equal(each, each.float().double()) for each in (a, b, c)):
        return a * b + c  # the product of two float32 is exact in float64
    return directed.nearest_fused(a, b, c)


FLOATS: Mapping[str, Function] = {
    "acos": torch.acos,
    "acosh": torch.acosh,
    "asin": torch.asin,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "atan2": torch.atan2,
    "atanh": torch.atanh,
    "cbrt": _cube_root,
    "ceil": torch.ceil,
    "copysign": torch.copysign,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "cospi": _cosine_of_pi,
    "cyl_bessel_i0": torch.special.i0,
    "cyl_bessel_i1": torch.special.i1,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "erfcinv": lambda x: -torch.special.ndtri(x / 2) / math.sqrt(2.0),
    "erfcx": torch.special.erfcx,
    "erfinv": torch.erfinv,
    "exp": torch.exp,
    "exp10": lambda x: torch.pow(10.0, x),
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "fabs": torch.abs,
    "fdim": lambda x, y: torch.where(x <= y, 0.0, x - y),
    "fdivide": torch.div,
    "floor": torch.floor,
    "frsqrt_rn": torch.rsqrt,
    "fma": _fused,
    "fmod": torch.fmod,
    "hypot": _norm,
    "ilogb": _whole_exponent,
    "j0": torch.special.bessel_j0,
    "j1": torch.special.bessel_j1,
    "jn": _bessel(torch.special.bessel_j0, torch.special.bessel_j1, backwards=True),
    "ldexp": _scaled,
    "lgamma": torch.lgamma,
    "log": torch.log,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "logb": _exponent,
    "nearbyint": torch.round,
    "norm3d": _norm,
    "norm4d": _norm,
    "normcdf": lambda x: torch.erfc(-x / math.sqrt(2.0)) / 2,
    "normcdfinv": torch.special.ndtri,
    "pow": torch.pow,
    "powi": lambda x, n: torch.pow(x, n.double()),
    "rcbrt": lambda x: 1 / _cube_root(x),
    "remainder": _each(_remainder),
    "rhypot": _inverse_of_norm,
    "rint": torch.round,
    "rnorm3d": _inverse_of_norm,
    "rnorm4d": _inverse_of_norm,
    "round": rounding.ties_away,
    "rsqrt": torch.rsqrt,
    "saturate": lambda x: x.nan_to_num(nan=0.0).clamp(0.0, 1.0),
    "scalbn": _scaled,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "sinpi": _sine_of_pi,
    "sqrt": rounding.square_root,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "tgamma": _each(_gamma),
    "trunc": torch.trunc,
    "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1,
    "yn": _bessel(torch.special.bessel_y0, torch.special.bessel_y1, backwards=False),
}


# Names that begin with an operation, a type (f, d) and a rounding.
_ARITHMETIC: Mapping[str, tuple[Function, directed.Exact]] = {
    "add": (torch.add, directed.add),
    "div": (torch.div, directed.divide),
    "fma": (_fused, directed.fused),
    "mul": (torch.mul, directed.multiply),
    "rcp": (torch.reciprocal, directed.reciprocal),
    "sqrt": (rounding.square_root, directed.square_root),
    "sub": (torch.sub, directed.subtract),
}
_ROUNDED = re.compile(r"(?:[fd](add|div|mul|rcp|sqrt|sub)|(fma)f?)_(r[nduz])")
_CONVERTED = re.compile(r"(float|double|u?int|u?ll)2(float|double|u?int|u?ll)_(r[nduz])")
_TO_WHOLE: Mapping[str, Function] = {
    "rn": torch.round,
    "rd": torch.floor,
    "ru": torch.ceil,
    "rz": torch.trunc,
}


def _directed(name: str, dtype: torch.dtype) -> Function | None:
    match = _ROUNDED.fullmatch(name)
    if match is None:
        return None
    operation = match[1] or match[2]
    nearest, exact = _ARITHMETIC[operation]
    to = directed.DIRECTIONS.get(match[3])

    def compute(*operands: Tensor) -> Tensor:
        wide = [each.double() for each in operands]
        result = nearest(*wide)
        found = rounding.to_float(result, dtype)
        if to is None:
            return found
        return directed.rounded(exact, found, operands, to)

    return compute


def _conversion(name: str, dtype: torch.dtype) -> Function | None:
    match = _CONVERTED.fullmatch(name)
    if match is None:
        return None
    source, target, to = match[1], match[2], directed.DIRECTIONS.get(match[3])

    def to_integer(x: Tensor) -> Tensor:
        return rounding.to_integer(_TO_WHOLE[match[3]](x), dtype, unsigned=target.startswith("u"))

    def to_float(x: Tensor) -> Tensor:
        if x.dtype.is_floating_point:
            nearest, exact = rounding.to_float(x, dtype), directed.same
        elif source.startswith("u"):
            nearest, exact = (
                integers.unsigned_to_float(x, dtype),
                _unsigned(integers.bits_of(x.dtype)),
            )
        else:
            nearest, exact = x.to(dtype), directed.same
        return nearest if to is None else directed.rounded(exact, nearest, [x], to)

    return to_float if dtype.is_floating_point else to_integer


def _unsigned(bits: int) -> directed.Exact:
    return lambda x: Fraction(int(x) % (1 << bits))
