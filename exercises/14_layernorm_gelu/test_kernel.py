"""Laws that hold for every LayerNorm with a GELU behind it, whatever the numbers are."""

import math

from hypothesis import given

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}

# Whole numbers of x up to 4, and a shift: their sums are exact in the dtype.
SHIFT = {"float32": 2048, "float16": 1024, "bfloat16": 64}


def gelu(h):
    """Return h * Φ(h), where Φ is the share of a normal distribution that lies below h; float64."""
    return 0.5 * h * (1 + (h * math.sqrt(0.5)).erf())


def rounding(inputs, out, case, at=0.0):
    """Return how much two honest outputs may differ, for each element of `out`; float64.

    A mean of n numbers is off by at most max(8 * sqrt(n), 3/8 * n) * 2**-24 of the mean of their
    sizes. Beyond an n of 1,024 it is no more: no program adds up longer chains. A variance is off
    by as much of itself. So h is off by as much of its terms, and GELU passes this on at most 1.13
    times. Each output is rounded once; a GPU's erf and root are off by some units more, which the 8
    covers. `at` is how far x is shifted.
    """
    x, weight = inputs["x"].double(), inputs["weight"].double().abs()
    size = x.abs() + x.abs().mean(-1, keepdim=True) + at
    scale = (x.var(-1, correction=0, keepdim=True) + inputs["eps"]).rsqrt()
    terms = weight * size * scale + inputs["bias"].double().abs()
    chain = min(case.shape[-1], 1024)
    sums = max(8 * math.sqrt(chain), 0.375 * chain) * 2.0**-24
    return 2 * (1.13 * sums * terms + eps(case.dtype) * out.double().abs()) + UNDERFLOW[case.dtype]


def whole(inputs):
    """Round x to whole numbers from -4 to 4, of which each row has two different ones at least."""
    x = inputs["x"]
    x.copy_(x.double().clamp(-4, 4).round())
    if x.shape[-1] > 1:
        x[:, 0], x[:, -1] = 1.0, -1.0


@given(case=cases)
def test_a_shift_of_x_changes_nothing(kernel, case):
    """x + c and x - c give the output of x, for a c that is large beside their deviation."""
    inputs = kernel.inputs(case)
    whole(inputs)
    x, shift = inputs["x"], SHIFT[case.dtype]
    expected = kernel.run(inputs)["out"]
    limit = rounding(inputs, expected, case, at=2 * shift)
    x.add_(shift)
    higher = kernel.run(inputs)["out"].double()
    assert_within(higher, expected.double(), limit, f"out of x + {shift} against out of x")
    x.sub_(2 * shift)
    lower = kernel.run(inputs)["out"].double()
    assert_within(lower, expected.double(), limit, f"out of x - {shift} against out of x")


@given(case=cases)
def test_eps_belongs_to_the_variance(kernel, case):
    """4 x with 16 eps gives the output of x with eps: variance and eps both grow 16 times."""
    inputs = kernel.inputs(case)
    inputs["x"].copy_(inputs["x"].double().clamp(-1024, 1024))
    expected = kernel.run(inputs)["out"]
    # The factors are powers of two, so hardly anything but underflow may differ.
    limit = rounding(inputs, expected, case)
    inputs["x"].mul_(4)
    inputs["eps"] *= 16
    scaled = kernel.run(inputs)["out"].double()
    assert_within(scaled, expected.double(), limit, "out of 4 x with 16 eps")


@given(case=cases)
def test_without_weight_only_the_bias_is_left(kernel, case):
    """A weight of 0 gives gelu(bias), in each row the same."""
    inputs = kernel.inputs(case)
    inputs["weight"].zero_()
    out = kernel.run(inputs)["out"]
    expected = gelu(inputs["bias"].double()).expand_as(out)
    assert_within(out.double(), expected, rounding(inputs, expected, case), "out for weight 0")


@given(case=cases)
def test_gelu_of_opposites_differ_by_h(kernel, case):
    """gelu(h) - gelu(-h) is h: out with weight and bias, less out with both of them negated."""
    inputs = kernel.inputs(case)
    inputs["weight"].clamp_(-64, 64)
    inputs["bias"].clamp_(-64, 64)
    x = inputs["x"].double()
    scale = (x.var(-1, correction=0, keepdim=True) + inputs["eps"]).rsqrt()
    normalised = (x - x.mean(-1, keepdim=True)) * scale
    h = normalised * inputs["weight"].double() + inputs["bias"].double()
    positive = kernel.run(inputs)["out"].double()
    inputs["weight"].neg_()
    inputs["bias"].neg_()
    negative = kernel.run(inputs)["out"].double()
    assert_within(positive - negative, h, rounding(inputs, h, case), "gelu(h) - gelu(-h)")


@given(case=cases)
def test_rows_may_come_in_any_order(kernel, case):
    """Reversing the rows of x reverses the rows of out."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    expected = kernel.run(inputs)["out"]
    limit = rounding(inputs, expected, case)
    x.copy_(x.flip(0))
    out = kernel.run(inputs)["out"].double()
    assert_within(out.flip(0), expected.double(), limit, "out for reversed rows, reversed back")


@given(case=cases)
def test_columns_may_come_in_any_order(kernel, case):
    """x, weight and bias backwards give out backwards: mean and variance know no order."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"]
    limit = rounding(inputs, expected, case)
    for name in ("x", "weight", "bias"):
        inputs[name].copy_(inputs[name].flip(-1))
    out = kernel.run(inputs)["out"].double()
    assert_within(out.flip(-1), expected.double(), limit, "out for reversed columns, reversed back")
