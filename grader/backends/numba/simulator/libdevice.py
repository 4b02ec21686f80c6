"""NVIDIA's libdevice functions: computed as float64, and rounded to the type of the result.

A GPU's may differ in the last places. Those that round otherwise than to the nearest (`_rd`, `_ru`,
`_rz`) are not simulated, nor are Bessel functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.cuda import libdevicefuncs

from grader.backends.numba.simulator import bits
from grader.backends.numba.simulator.gpu_math import of_python
from grader.backends.numba.simulator.internals import numpy_type
from grader.backends.numba.simulator.not_simulated import NotSimulated

Function = Callable[..., Any]


def _sincos(scale: float) -> Function:
    return lambda x: (np.sin(scale * x), np.cos(scale * x))


# By the name without `fast_` and without the f of float32.
_FLOATS: dict[str, Function] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "cospi": lambda x: np.cos(np.pi * x),
    "erf": of_python(math.erf), "erfc": of_python(math.erfc), "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x), "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs,
    "fdim": lambda x, y: np.fmax(x - y, 0.0), "fdivide": np.divide, "floor": np.floor,
    "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod, "frexp": np.frexp, "hypot": np.hypot,
    "ldexp": lambda x, n: np.ldexp(x, int(n)), "lgamma": of_python(math.lgamma), "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "modf": np.modf,
    "nearbyint": np.rint, "normcdf": lambda x: of_python(math.erfc)(-x / math.sqrt(2.0)) / 2,
    "pow": np.power, "powi": lambda x, n: np.power(x, float(n)), "rcbrt": lambda x: 1 / np.cbrt(x),
    "remainder": of_python(math.remainder), "rint": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": lambda x: np.copysign(np.floor(np.fabs(x) + 0.5), x),
    "saturate": lambda x: np.fmin(np.fmax(x, 0.0), 1.0),
    "scalbn": lambda x, n: np.ldexp(x, int(n)), "sin": np.sin, "sincos": _sincos(1.0),
    "sincospi": _sincos(math.pi), "sinh": np.sinh, "sinpi": lambda x: np.sin(np.pi * x),
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "tgamma": of_python(math.gamma),
    "trunc": np.trunc,
}  # fmt: skip
_ROUNDED: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
_OTHERS: dict[str, Function] = {
    "abs": abs, "llabs": abs, "max": max, "min": min, "llmax": max, "llmin": min,
    "brev": bits.brev, "brevll": bits.brev, "clz": bits.clz, "clzll": bits.clz, "ffs": bits.ffs,
    "ffsll": bits.ffs, "popc": bits.popc, "popcll": bits.popc,
    "double_as_longlong": lambda x: x.view(np.int64), "float_as_int": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32),
    "longlong_as_double": lambda x: x.view(np.float64),
    "half2float": lambda x: x.view(np.float16),
    "float2half_rn": lambda x: np.float16(x).view(np.int16),
    "finitef": np.isfinite, "isfinited": np.isfinite, "isinfd": np.isinf, "isinff": np.isinf,
    "isnand": np.isnan, "isnanf": np.isnan, "signbitd": np.signbit, "signbitf": np.signbit,
    "hadd": lambda x, y: (int(x) + int(y)) >> 1, "rhadd": lambda x, y: (int(x) + int(y) + 1) >> 1,
    "mulhi": lambda x, y: int(x) * int(y) >> 32, "mul64hi": lambda x, y: int(x) * int(y) >> 64,
    "sad": lambda x, y, z: abs(int(x) - int(y)) + int(z),
    "llrint": lambda x: int(np.rint(x)), "llrintf": lambda x: int(np.rint(x)),
    "int2double_rn": float, "int2float_rn": float, "ll2double_rn": float, "ll2float_rn": float,
    "double2float_rn": float,
}  # fmt: skip
_TO_WHOLE = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}


def _fma(x: Any, y: Any, z: Any) -> Any:
    return bits.fma(x, y, z)


def _function(name: str) -> Function | None:
    """Return what computes a libdevice function, from arguments of its types."""
    if name in _OTHERS:
        return _OTHERS[name]
    if name.startswith("fma"):
        return _fma if name in ("fma", "fmaf", "fma_rn", "fmaf_rn") else None
    rounded, _, direction = name.partition("_r")
    if direction == "n" and rounded[:1] in "df" and rounded[1:] in _ROUNDED:
        return _ROUNDED[rounded[1:]]
    if direction and rounded in ("double2int", "double2ll", "float2int", "float2ll"):
        return _TO_WHOLE[f"r{direction}"]
    base = name.removeprefix("fast_")
    return _FLOATS.get(base) or _FLOATS.get(base.removesuffix("f"))


def _typed(function: Function, result: Any, arguments: list[Any]) -> Function:
    """Let a function take and give values of libdevice's types; pointers are further results."""
    takes = [np.dtype(numpy_type(arg.ty)) for arg in arguments if not arg.is_ptr]
    gives = [np.dtype(numpy_type(arg.ty)) for arg in arguments if arg.is_ptr]
    if str(result) != "none":
        gives.insert(0, np.dtype(numpy_type(result)))

    def call(*args: Any) -> Any:
        if len(args) != len(takes):
            raise TypeError(f"it takes {len(takes)} arguments, not {len(args)}")
        given = [dtype.type(arg) for dtype, arg in zip(takes, args, strict=True)]
        wide = [np.float64(each) if each.dtype == np.float32 else each for each in given]
        found = function(*(given if function in _OTHERS.values() else wide))
        found = found if isinstance(found, tuple) else (found,)
        results = [bits.wrapped(each, dtype) for each, dtype in zip(found, gives, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    return call


class _Libdevice:
    def __getattr__(self, name: str) -> Any:
        raise NotSimulated(f"libdevice.{name} is not simulated")


LIBDEVICE = _Libdevice()
for _mangled, (_result, _arguments) in libdevicefuncs.functions.items():
    _name = _mangled.removeprefix("__nv_")
    _computes = _function(_name)
    if _computes is not None:
        setattr(LIBDEVICE, _name, _typed(_computes, _result, _arguments))
