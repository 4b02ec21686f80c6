"""Laws that hold for every SwiGLU of GPT-OSS, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


@given(case=cases)
def test_beyond_the_limit_nothing_changes(kernel, case):
    """x above limit, and y outside of -limit to limit, count as the limit."""
    inputs = kernel.inputs(case)
    inputs["limit"] = 2.0
    expected = kernel.run(inputs)["out"]
    inputs["x"].clamp_(max=2.0)
    inputs["y"].clamp_(-2.0, 2.0)
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, "out of clamped inputs against that of the inputs")


@given(case=cases)
def test_an_alpha_of_0_halves_x(kernel, case):
    """With an alpha of 0 the sigmoid is 1/2, and out is x / 2 * (y + 1)."""
    inputs = kernel.inputs(case)
    inputs["alpha"], inputs["limit"] = 0.0, 8.0
    out = kernel.run(inputs)["out"].double()
    x, y = inputs["x"].double().clamp(max=8.0), inputs["y"].double().clamp(-8.0, 8.0)
    # Rounded to float32 after each of four operations, twice to the output's type; a GPU's division
    # is off by 2 units, too. y + 1 may cancel, hence |y| + 1.
    limit = (8 * 2.0**-24 + eps(case.dtype)) * x.abs() / 2 * (y.abs() + 1)
    assert_within(out, x / 2 * (y + 1), limit + 16 * UNDERFLOW[case.dtype], "out for alpha = 0")


@given(case=cases)
def test_outputs_of_opposites_differ_by_their_x(kernel, case):
    """x * sigmoid(alpha * x) of x and of -x differ by x, seen with a y of 0."""
    inputs = kernel.inputs(case)
    inputs["limit"] = 8.0
    inputs["x"].clamp_(-8.0, 8.0)
    inputs["y"].fill_(0.0)
    x = inputs["x"].double()
    of_x = kernel.run(inputs)["out"].double()
    inputs["x"].neg_()
    of_opposite = kernel.run(inputs)["out"].double()
    # The two sizes add up to |x|, so rounding both to the output's type costs at most
    # eps / 2 * |x|; the other half and 16 * 2**-24 are for the steps before, done in float32. An
    # exponent z that is rounded three times moves x * exp(z) by 2.3 * |z| * exp(z) units of x, less
    # than one for every z < 0.
    limit = (eps(case.dtype) + 16 * 2.0**-24) * x.abs() + UNDERFLOW[case.dtype]
    assert_within(of_x - of_opposite, x, limit, "out(x) - out(-x)")


@given(case=cases)
def test_a_y_of_minus_1_closes_the_gate(kernel, case):
    """out is 0 where y is -1."""
    inputs = kernel.inputs(case)
    inputs["limit"] = 7.0
    inputs["y"][::2] = -1.0
    out = kernel.run(inputs)["out"]
    assert_within(out[::2], 0.0, 0.0, "out where y is -1")


@given(case=cases, position=positions)
def test_each_output_depends_on_its_own_elements(kernel, case, position):
    """Changing one element of x and of y changes that output and no other."""
    inputs = kernel.inputs(case)
    inputs["alpha"], inputs["limit"] = 4.0, 64.0
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * case.elements)
    inputs["x"][index] = 32.0  # sigmoid(128) is 1 as far as each of the types can tell
    inputs["y"][index] = 3.0
    out = kernel.run(inputs)["out"]
    # A GPU's quick division is off by up to 2 eps; the product and the last rounding add one more.
    assert_within(out[index], 128.0, 4 * eps(case.dtype) * 128.0, f"the changed out at {index}")
    out[index] = expected[index]
    assert_within(out, expected, 0.0, f"out away from a change at {index}")


@given(case=cases, position=positions)
def test_nan_stays_nan(kernel, case, position):
    """A NaN in x or in y makes its output NaN, and no other."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * case.elements)
    for name in ("x", "y"):
        before = inputs[name][index].clone()
        inputs[name][index] = math.nan
        out = kernel.run(inputs)["out"]
        assert bool(out[index].isnan()), (
            f"out at [{index}], where {name} is NaN: expected nan, got {out[index]:.7g}. Without "
            "propagate_nan=tl.PropagateNan.ALL, tl.minimum and tl.clamp take the limit; and a "
            "comparison with NaN is false."
        )
        out[index] = expected[index]
        assert_within(out, expected, 0.0, f"out away from the NaN of {name} at {index}")
        inputs[name][index] = before
