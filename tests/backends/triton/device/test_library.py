"""libdevice on the simulated GPU, against Python's math and mpmath."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as language
from triton.language.extra.cuda import libdevice as cuda

from grader.backends.triton.device import libdevice
from grader.backends.triton.device.faults import NotSimulated

from .launched import Gpu, simulated_gpu
from .single import execute

SYMBOLS = sorted(set(re.findall(r'"(__nv_\w+)"', Path(cuda.__file__).read_text())))
F64, F32, I32, I64 = torch.float64, torch.float32, torch.int32, torch.int64
ANYWHERE = [-3.7, -1.0, -0.3, 0.0, 1e-3, 0.5, 2.5, 11.0]
POSITIVE = [1e-6, 0.3, 1.0, 2.5, 40.0]
INSIDE = [-0.99, -0.4, 0.0, 1e-5, 0.7]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_the_device_has_every_function_that_the_language_offers(symbol: str) -> None:
    assert libdevice.find(symbol, F32) is not None


@pytest.mark.parametrize("symbol", ["my_function", "__nv_frsqrt_rd"])
def test_another_function_is_not_simulated(symbol: str) -> None:
    with pytest.raises(NotSimulated, match=symbol):
        execute("tt.extern_elementwise", torch.ones(1), symbol=symbol)


def compute(symbol: str, *operands: torch.Tensor, to: torch.dtype = F64) -> list[Any]:
    return execute("tt.extern_elementwise", *operands, to=to, symbol=f"__nv_{symbol}").tolist()


UNARY: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "acos": (mpmath.acos, INSIDE),
    "acosh": (mpmath.acosh, [1.0, 1.5, 30.0]),
    "asin": (mpmath.asin, INSIDE),
    "asinh": (mpmath.asinh, ANYWHERE),
    "atan": (mpmath.atan, ANYWHERE),
    "atanh": (mpmath.atanh, INSIDE),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), ANYWHERE),
    "ceil": (math.ceil, ANYWHERE),
    "cos": (mpmath.cos, ANYWHERE),
    "cosh": (mpmath.cosh, ANYWHERE),
    "cospi": (mpmath.cospi, ANYWHERE),
    "cyl_bessel_i0": (lambda x: mpmath.besseli(0, x), ANYWHERE),
    "cyl_bessel_i1": (lambda x: mpmath.besseli(1, x), ANYWHERE),
    "erf": (mpmath.erf, ANYWHERE),
    "erfc": (mpmath.erfc, ANYWHERE),
    "erfcinv": (lambda x: mpmath.erfinv(1 - mpmath.mpf(x)), [0.1, 0.7, 1.0, 1.9]),
    "erfcx": (lambda x: mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x), ANYWHERE),
    "erfinv": (mpmath.erfinv, INSIDE),
    "exp": (mpmath.exp, ANYWHERE),
    "exp10": (lambda x: mpmath.mpf(10) ** x, ANYWHERE),
    "exp2": (lambda x: mpmath.mpf(2) ** x, ANYWHERE),
    "expm1": (mpmath.expm1, ANYWHERE),
    "fabs": (abs, ANYWHERE),
    "floor": (math.floor, ANYWHERE),
    "j0": (mpmath.j0, ANYWHERE),
    "j1": (mpmath.j1, ANYWHERE),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [-3.7, -0.3, 0.5, 2.5, 11.0]),
    "log": (mpmath.log, POSITIVE),
    "log10": (mpmath.log10, POSITIVE),
    "log1p": (mpmath.log1p, POSITIVE),
    "log2": (lambda x: mpmath.log(x, 2), POSITIVE),
    "logb": (lambda x: math.frexp(x)[1] - 1, POSITIVE),
    "nearbyint": (round, ANYWHERE),
    "normcdf": (mpmath.ncdf, ANYWHERE),
    "normcdfinv": (
        lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(x) - 1),
        [0.1, 0.5, 0.9],
    ),
    "rcbrt": (lambda x: 1 / mpmath.cbrt(x), POSITIVE),
    "rint": (round, ANYWHERE),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), ANYWHERE),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    "sin": (mpmath.sin, ANYWHERE),
    "sinh": (mpmath.sinh, ANYWHERE),
    "sinpi": (mpmath.sinpi, ANYWHERE),
    "sqrt": (mpmath.sqrt, POSITIVE),
    "tan": (mpmath.tan, ANYWHERE),
    "tanh": (mpmath.tanh, ANYWHERE),
    "tgamma": (mpmath.gamma, [-3.7, -0.3, 0.5, 2.5, 11.0]),
    "trunc": (math.trunc, ANYWHERE),
    "y0": (lambda x: mpmath.bessely(0, x), POSITIVE),
    "y1": (lambda x: mpmath.bessely(1, x), POSITIVE),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    reference, inputs = UNARY[name]
    x = torch.tensor(inputs, dtype=F64)
    expected = [float(reference(each)) for each in inputs]
    precision = 1e-8 if name in BESSEL else 1e-11  # torch's approximations, enough for float32
    assert compute(name, x) == pytest.approx(expected, rel=precision, abs=1e-14)
    narrow = execute("tt.extern_elementwise", x.float(), symbol=f"__nv_{name}f")
    assert narrow.dtype == F32
    expected = [float(reference(each)) for each in x.float().tolist()]
    assert narrow.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_the_sine_of_a_tiny_part_of_a_turn_keeps_its_digits() -> None:
    """A remainder of -1e-40 and 2 is 2, whose sine is -2.4e-16 and not -3.1e-40."""
    x = torch.tensor([-1e-40, 1e-40, -1e-9], dtype=F64)
    expected = [math.pi * each for each in x.tolist()]
    assert compute("sinpi", x) == pytest.approx(expected, rel=1e-14, abs=0.0)


BESSEL = ("j0", "j1", "y0", "y1")

BINARY: dict[str, Callable[[float, float], Any]] = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "fdim": lambda x, y: max(x - y, 0.0),
    "fmod": math.fmod,
    "hypot": math.hypot,
    "nextafter": math.nextafter,
    "pow": math.pow,
    "remainder": math.remainder,
    "rhypot": lambda x, y: 1 / math.hypot(x, y),
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    pairs = [(2.5, 2.0), (-3.0, 2.0), (7.3, -2.0), (1e-3, 3.0)]
    x, y = (torch.tensor(each, dtype=F64) for each in zip(*pairs, strict=True))
    assert compute(name, x, y) == pytest.approx([BINARY[name](*pair) for pair in pairs], rel=1e-14)


def test_functions_with_an_integer() -> None:
    n, x = torch.tensor([0, 1, 2, 5, 9], dtype=I32), torch.tensor([0.5, 3.0, 12.0, 4.0, 2.0])
    rows = list(zip(n.tolist(), x.tolist(), strict=True))
    for name, reference in (("jn", mpmath.besselj), ("yn", mpmath.bessely)):
        expected = [float(reference(order, each)) for order, each in rows]
        assert compute(name, n, x.double()) == pytest.approx(expected, rel=1e-8)
    with pytest.raises(NotSimulated, match="an order above 1000"):
        compute("yn", n + 1000, x.double())
    assert compute("ldexp", x.double(), n) == [math.ldexp(each, order) for order, each in rows]
    assert compute("powi", x.double(), n) == pytest.approx([each**order for order, each in rows])
    assert compute("norm4df", x, x, x, x, to=F32) == pytest.approx([2 * v for v in x.tolist()])


def test_exponents_of_special_numbers() -> None:
    x = torch.tensor([0.0, math.inf, math.nan, 8.0, 0.3])
    least, most = -(2**31), 2**31 - 1
    assert compute("ilogbf", x, to=I32) == [least, most, least, 3, -2]
    assert compute("logbf", x[[0, 1, 3]], to=F32) == [-math.inf, math.inf, 3.0]
    assert compute("saturatef", torch.tensor([-1.0, 0.3, 2.0, math.nan]), to=F32) == pytest.approx(
        [0.0, 0.3, 1.0, 0.0]
    )
    assert compute("tgammaf", torch.tensor([0.0, -1.0, 200.0]), to=F32) == pytest.approx(
        [math.inf, math.nan, math.inf], nan_ok=True
    )


def _root(value: Fraction) -> Fraction:
    with mpmath.workprec(400):
        root = mpmath.sqrt(mpmath.mpf(value.numerator) / value.denominator)
        return Fraction(int(root * 2**300), 2**300)


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
    "sqrt": _root,
}


@pytest.mark.parametrize("to", ["rn", "rd", "ru", "rz"])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [F32, F64])
def test_arithmetic_rounds_in_its_direction(name: str, to: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    count = {"rcp": 1, "sqrt": 1, "fma": 3}.get(name, 2)
    inputs = [torch.randn(40, generator=generator, dtype=dtype) for _ in range(count)]
    if name == "sqrt":
        inputs = [inputs[0].abs()]
    letter = "f" if dtype == F32 else "d"
    symbol = f"{letter}{name}_{to}" if name != "fma" else f"fma{'f' if dtype == F32 else ''}_{to}"
    found = compute(symbol, *inputs, to=dtype)
    for result, *row in zip(found, *(each.tolist() for each in inputs), strict=True):
        exact = EXACT[name](*map(Fraction, row))
        number = np.float32 if dtype == F32 else np.float64
        below = Fraction(float(np.nextafter(number(result), number(-np.inf))))
        above = Fraction(float(np.nextafter(number(result), number(np.inf))))
        if to == "rn":
            distance = abs(Fraction(result) - exact)
            assert distance <= min(abs(below - exact), abs(above - exact))
        elif to == "rd" or (to == "rz" and exact > 0):
            assert Fraction(result) <= exact < above
        else:
            assert below < exact <= Fraction(result)


@pytest.mark.parametrize(
    ("symbol", "value", "to", "expected"),
    [
        ("float2int_rn", torch.tensor([2.5, -3.5, 3e9, math.nan]), I32, [2, -4, 2**31 - 1, 0]),
        ("float2int_rd", torch.tensor([-0.5, 0.5]), I32, [-1, 0]),
        ("float2int_ru", torch.tensor([-0.5, 0.5]), I32, [0, 1]),
        ("double2uint_rz", torch.tensor([-1.0, 4e9], dtype=F64), I32, [0, 4_000_000_000 - 2**32]),
        ("double2ll_rz", torch.tensor([-1.7, 1e30], dtype=F64), I64, [-1, 2**63 - 1]),
        ("int2float_rz", torch.tensor([2**24 + 1], dtype=I32), F32, [2.0**24]),
        ("int2float_ru", torch.tensor([2**24 + 1], dtype=I32), F32, [2.0**24 + 2]),
        ("uint2float_rn", torch.tensor([-1], dtype=I32), F32, [2.0**32]),
        ("uint2float_rd", torch.tensor([-1], dtype=I32), F32, [2.0**32 - 256]),
        ("ull2double_rz", torch.tensor([-1]), F64, [2.0**64 - 2048]),
        ("double2float_rd", torch.tensor([0.1], dtype=F64), F32, [0.09999999403953552]),
        ("double2float_ru", torch.tensor([0.1], dtype=F64), F32, [0.10000000149011612]),
        ("llrintf", torch.tensor([2.5, -1.5]), I64, [2, -2]),
        ("llroundf", torch.tensor([2.5, -1.5]), I64, [3, -2]),
    ],
)
def test_conversions(
    symbol: str, value: torch.Tensor, to: torch.dtype, expected: list[float]
) -> None:
    assert compute(symbol, value, to=to) == expected


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=I32)


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        ("clz", [ints(0, 1, -1, 0x8000)], [32, 31, 0, 16]),
        ("clzll", [torch.tensor([0, 1, -1])], [64, 63, 0]),
        ("ffs", [ints(0, 1, 12, -(2**31))], [0, 1, 3, 32]),
        ("popc", [ints(0, 7, -1)], [0, 3, 32]),
        ("popcll", [torch.tensor([-1])], [64]),
        ("brev", [ints(1, 2, -1)], [-(2**31), 2**30, -1]),
        ("byte_perm", [ints(0x33221100), ints(0x77665544), ints(0x7250)], [0x77225500]),
        ("hadd", [ints(-3, 2**31 - 1), ints(0, 2**31 - 1)], [-2, 2**31 - 1]),
        ("rhadd", [ints(-3), ints(0)], [-1]),
        ("uhadd", [ints(-1), ints(-1)], [-1]),
        ("sad", [ints(-5), ints(3), ints(1)], [9]),
        ("usad", [ints(-1), ints(0), ints(0)], [-1]),
        ("mul24", [ints(0xFFFFFF), ints(5)], [-5]),
        ("umul24", [ints(0xFFFFFF), ints(2)], [0x1FFFFFE]),
        ("mulhi", [ints(-1), ints(2)], [-1]),
        ("umulhi", [ints(-1), ints(2)], [1]),
        ("float_as_int", [torch.tensor([1.0])], [0x3F800000]),
        ("double2hiint", [torch.tensor([1.0], dtype=F64)], [0x3FF00000]),
        ("isnanf", [torch.tensor([1.0, math.nan])], [0, 1]),
        ("isinff", [torch.tensor([1.0, -math.inf])], [0, 1]),
        ("finitef", [torch.tensor([1.0, -math.inf])], [1, 0]),
        ("signbitf", [torch.tensor([1.0, -0.0])], [0, 1]),
    ],
)
def test_functions_of_bits(symbol: str, operands: list[torch.Tensor], expected: list[int]) -> None:
    assert compute(symbol, *operands, to=I32) == expected


def test_bits_become_floats() -> None:
    assert compute("int_as_float", ints(0x3F800000), to=F32) == [1.0]
    assert compute("hiloint2double", ints(0x3FF00000), ints(1), to=F64) == [
        struct.unpack("<d", struct.pack("<Q", 0x3FF0000000000001))[0]
    ]


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    with simulated_gpu(tmp_path) as gpu:
        yield gpu


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = language.tanh(x) + language.pow(x, x) + language.fast_expf(x)
    tl.store(out_ptr + i, tl.where(language.isnan(y), -1.0, y) + language.ffs(i))


@pytest.mark.slow
def test_a_kernel_calls_the_library(gpu: Gpu) -> None:
    x = torch.rand(16)
    x[3] = math.nan
    out = torch.empty(16)
    gpu.launch(kernel, (1,), x, out, BLOCK=16)
    first = torch.tensor([(i & -i).bit_length() for i in range(16)])
    expected = torch.tanh(x) + x**x + torch.exp(x)
    torch.testing.assert_close(out, expected.nan_to_num(nan=-1.0) + first)
