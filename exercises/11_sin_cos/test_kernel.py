"""Laws that hold for every sine and cosine, whatever the angles are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}

# By so much an honest sine or cosine is off, in float32, before it is rounded to the output.
COMPUTED = 8 * 2.0**-24


def run(kernel, inputs):
    """Return both outputs in float64: sin, cos."""
    outputs = kernel.run(inputs)
    return outputs["sin_out"].double(), outputs["cos_out"].double()


def rounding(case):
    """Return how far an output may be off: as computed, and rounded twice to half a spacing."""
    return COMPUTED + eps(case.dtype)


@given(case=cases)
def test_sine_is_odd_and_cosine_is_even(kernel, case):
    """sin(-x) is -sin(x), and cos(-x) is cos(x)."""
    inputs = kernel.inputs(case)
    size = inputs["x"].double().abs().clamp(max=1)
    sin, cos = run(kernel, inputs)
    inputs["x"].neg_()
    of_opposite, even = run(kernel, inputs)
    limit = 2 * rounding(case) * size + UNDERFLOW[case.dtype]
    assert_within(-of_opposite, sin, limit, "-sin(-x) against sin(x)")
    assert_within(even, cos, 2 * rounding(case), "cos(-x) against cos(x)")


@given(case=cases)
def test_squares_add_up_to_one(kernel, case):
    """sin(x)² + cos(x)² is 1."""
    sin, cos = run(kernel, kernel.inputs(case))
    # An error e of both moves the sum by 2 * (|sin| + |cos|) * e, and |sin| + |cos| is at most
    # sqrt(2); e * e is next to nothing.
    limit = 2 * math.sqrt(2) * rounding(case) + 2 * rounding(case) ** 2
    assert_within(sin.square() + cos.square(), 1.0, limit, "sin² + cos²")


@given(case=cases)
def test_zero_has_sine_0_and_cosine_1(kernel, case):
    """sin(0) is 0, and cos(0) is 1."""
    inputs = kernel.inputs(case)
    inputs["x"][::2] = 0.0
    sin, cos = run(kernel, inputs)
    assert_within(sin[::2], 0.0, 0.0, "sin(0)")
    assert_within(cos[::2], 1.0, rounding(case), "cos(0)")


@given(case=cases)
def test_twice_the_angle(kernel, case):
    """sin(2x) is 2 sin(x) cos(x), and cos(2x) is cos(x)² - sin(x)²."""
    inputs = kernel.inputs(case)
    inputs["x"].clamp_(-4096, 4096)
    sin, cos = run(kernel, inputs)
    inputs["x"].mul_(2)  # exact
    of_double = run(kernel, inputs)
    # Errors e of sin and cos move 2 sin cos, and cos² - sin², by at most 2 * sqrt(2) * e.
    limit = (1 + 2 * math.sqrt(2)) * rounding(case) + 2 * rounding(case) ** 2
    assert_within(of_double[0], 2 * sin * cos, limit, "sin(2x) against 2 sin(x) cos(x)")
    assert_within(of_double[1], cos**2 - sin**2, limit, "cos(2x) against cos(x)² - sin(x)²")


@given(case=cases, position=positions)
def test_each_pair_depends_on_its_own_element(kernel, case, position):
    """Changing one element of x changes its sine and its cosine, and no other output."""
    inputs = kernel.inputs(case)
    expected = [values.clone() for values in run(kernel, inputs)]
    index = int(position * case.elements)
    inputs["x"][index] = 0.5
    found = run(kernel, inputs)
    for name, values, before, right in zip(
        ("sin_out", "cos_out"), found, expected, (math.sin(0.5), math.cos(0.5)), strict=True
    ):
        assert_within(values[index], right, rounding(case), f"{name}[{index}] for x = 0.5")
        values[index] = before[index]
        assert_within(values, before, 0.0, f"{name} away from a change at {index}")
