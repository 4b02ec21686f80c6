"""Laws that hold for every relu of a scaled sum, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much, and
# where it is an x that is lost, by scale times as much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


@given(case=cases)
def test_no_output_is_below_0(kernel, case):
    """max(x * scale + y, 0) is never negative."""
    out = kernel.run(kernel.inputs(case))["out"]
    assert_within(out, out.clamp(min=0), 0.0, "out against the larger of out and 0")


@given(case=cases)
def test_a_scale_of_0_leaves_the_relu_of_y(kernel, case):
    """With a scale of 0, out is y where y is above 0, and 0 elsewhere."""
    inputs = kernel.inputs(case)
    inputs["scale"] = 0.0
    out = kernel.run(inputs)["out"]
    # Nothing is rounded. But a GPU may flush a subnormal y.
    limit = 0.0 if case.dtype == "float16" else 2.0**-126
    assert_within(out, inputs["y"].clamp(min=0), limit, "out for scale 0")


@given(case=cases)
def test_doubling_x_and_y_doubles_out(kernel, case):
    """2 x and 2 y give twice the output of x and y."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].double()
    inputs["x"].mul_(2)
    inputs["y"].mul_(2)
    twice = kernel.run(inputs)["out"].double()
    # A factor of two changes no digits, so nothing but underflow may differ.
    limit = UNDERFLOW[case.dtype] * (1 + abs(inputs["scale"]))
    assert_within(twice, 2 * once, limit, "out for twice x and y")


@given(case=cases)
def test_signs_of_x_and_scale_cancel(kernel, case):
    """-x with -scale gives the output of x with scale."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"]
    inputs["x"].neg_()
    inputs["scale"] = -inputs["scale"]
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, "out for -x and -scale")


@given(case=cases, position=positions)
def test_each_output_depends_on_its_own_elements(kernel, case, position):
    """Changing one element of x and of y changes that output and no other."""
    inputs = kernel.inputs(case)
    inputs["scale"] = 0.5
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * case.elements)
    inputs["x"][index] = 4.0
    inputs["y"][index] = 3.0
    expected[index] = 5.0
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, f"out after a change at {index}")


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
            "propagate_nan=tl.PropagateNan.ALL, tl.maximum takes the number; and NaN > 0 is false."
        )
        out[index] = expected[index]
        assert_within(out, expected, 0.0, f"out away from the NaN of {name} at {index}")
        inputs[name][index] = before
