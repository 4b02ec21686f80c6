"""The dialect math against float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device import rounding

from .single import execute

# Each with the numbers that it is tried on.
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "exp": (torch.exp, -80, 80),
    "exp2": (torch.exp2, -100, 100),
    "expm1": (torch.expm1, -20, 20),
    "log": (torch.log, 1e-30, 1e30),
    "log2": (torch.log2, 1e-30, 1e30),
    "log10": (torch.log10, 1e-30, 1e30),
    "log1p": (torch.log1p, -0.9, 100),
    "sqrt": (torch.sqrt, 0, 1e30),
    "rsqrt": (torch.rsqrt, 1e-30, 1e30),
    "sin": (torch.sin, -100, 100),
    "cos": (torch.cos, -100, 100),
    "tan": (torch.tan, -1.5, 1.5),
    "tanh": (torch.tanh, -10, 10),
    "sinh": (torch.sinh, -10, 10),
    "cosh": (torch.cosh, -10, 10),
    "asin": (torch.asin, -1, 1),
    "acos": (torch.acos, -1, 1),
    "atan": (torch.atan, -100, 100),
    "erf": (torch.erf, -4, 4),
    "erfc": (torch.erfc, -4, 4),
    "floor": (torch.floor, -100, 100),
    "ceil": (torch.ceil, -100, 100),
    "trunc": (torch.trunc, -100, 100),
    "roundeven": (torch.round, -100, 100),
    "absf": (torch.abs, -100, 100),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(name: str, dtype: torch.dtype) -> None:
    function, low, high = FUNCTIONS[name]
    x = torch.linspace(low, high, 10_001, dtype=torch.float64).to(dtype)
    result = execute(f"math.{name}", x)
    assert result.dtype == dtype
    # CUDA's own functions are within 4 units in the last place or so.
    torch.testing.assert_close(
        result.double(), function(x.double()), rtol=4 * torch.finfo(dtype).eps, atol=1e-6
    )


def test_exponentials_are_rounded_once_wherever_they_lie() -> None:
    """Also where they become subnormal, 0 or infinite."""
    x = torch.cat([torch.linspace(-110, 90, 20_001), torch.tensor([-math.inf, math.inf])])
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        exact = torch.exp(x.to(dtype).double())
        assert torch.equal(execute("math.exp", x.to(dtype)), rounding.to_float(exact, dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_number_gives_no_number(name: str) -> None:
    assert execute(f"math.{name}", torch.tensor([math.nan])).isnan().all()


def test_ties_round_to_even_or_away_from_zero() -> None:
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 8388609.0])
    assert execute("math.roundeven", x).tolist() == [0, 2, 2, 0, -2, 0, 8388609]
    assert execute("math.round", x).tolist() == [1, 2, 3, -1, -3, 0, 8388609]


def test_functions_of_two_numbers() -> None:
    a, b = torch.tensor([0.5, -2.0, 3.0]), torch.tensor([2.0, 3.0, -1.0])
    torch.testing.assert_close(execute("math.powf", a, b), torch.tensor([0.25, -8.0, 1 / 3]))
    torch.testing.assert_close(execute("math.atan2", a, b), torch.atan2(a, b))
    assert execute("math.copysign", a, b).tolist() == [0.5, 2.0, -3.0]
    torch.testing.assert_close(execute("tt.precise_divf", a, b), a / b)


def test_absolute_value_of_integers_wraps() -> None:
    x = torch.tensor([-5, 5, -128], dtype=torch.int8)
    assert execute("math.absi", x).tolist() == [5, 5, -128]


def test_clamp_drops_or_keeps_nan() -> None:
    x, low, high = torch.tensor([math.nan, 5.0, -5.0]), torch.tensor([0.0]), torch.tensor([1.0])
    assert execute("tt.clampf", x, low, high, propagateNan="none").tolist() == [0.0, 1.0, 0.0]
    kept = execute("tt.clampf", x, low, high, propagateNan="all")
    assert kept[0].isnan()
    assert kept[1:].tolist() == [1.0, 0.0]


@given(*[st.floats(-(2.0**40), 2.0**40, allow_subnormal=False)] * 3)
@example(1.0 + 2.0**-52, 1.0 - 2.0**-52, -1.0)
@example(1.0 + 2.0**-30, 1.0 + 2.0**-30, -1.0)
def test_fma_rounds_once_in_float64(a: float, b: float, c: float) -> None:
    operands = [torch.tensor([each], dtype=torch.float64) for each in (a, b, c)]
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    result = execute("math.fma", *operands).item()
    assert abs(Fraction(result) - exact) <= Fraction(math.ulp(float(exact))) * Fraction(51, 100)


@given(*[st.floats(-(2.0**20), 2.0**20, width=32, allow_subnormal=False)] * 3)
@example(1.0 + 2.0**-12, 1.0 - 2.0**-12, -1.0)
def test_fma_rounds_once_in_float32(a: float, b: float, c: float) -> None:
    operands = [torch.tensor([each]) for each in (a, b, c)]
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert execute("math.fma", *operands).item() == torch.tensor(float(exact)).item()
