"""Laws that hold for every polynomial, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# A GPU may take numbers below the smallest normal float32 for 0.
UNDERFLOW = 2.0**-125


def rounding(c):
    """Return how far two honest sums of the terms may differ, where no |x| exceeds 1.

    A term passes at most 2 * degree roundings by Horner's rule, and about as many by powers. The
    errors of two sums may have opposite signs, hence the factor of 4 (N. J. Higham, "Accuracy and
    Stability of Numerical Algorithms", 5.1).
    """
    return 4 * len(c) * 2.0**-24 * c.double().abs().sum() + UNDERFLOW


@given(case=cases)
def test_without_x_the_constant_is_left(kernel, case):
    """A degree of 0, or an x of 0, gives c[0]."""
    inputs = kernel.inputs(case)
    constant = inputs["c"][0].double()
    out = kernel.run({**inputs, "c": inputs["c"][:1].clone()})["out"].clone()
    assert_within(out, constant, UNDERFLOW, "out for a degree of 0")
    inputs["x"][::2] = 0.0
    out = kernel.run(inputs)["out"]
    assert_within(out[::2], constant, UNDERFLOW, "out where x is 0")


@given(case=cases)
def test_at_1_and_minus_1_coefficients_add_up(kernel, case):
    """Out is the sum of all coefficients for an x of 1; for -1 every second one is subtracted."""
    inputs = kernel.inputs(case)
    c = inputs["c"].double()
    inputs["x"][::2] = 1.0
    inputs["x"][1::2] = -1.0
    out = kernel.run(inputs)["out"].double()
    assert_within(out[::2], c.sum(), rounding(inputs["c"]), "out where x is 1")
    alternating = c[::2].sum() - c[1::2].sum()
    assert_within(out[1::2], alternating, rounding(inputs["c"]), "out where x is -1")


@given(case=cases)
def test_opposite_x_and_alternating_coefficients_change_nothing(kernel, case):
    """With x and each odd coefficient negated, each term stays what it was."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].double()
    inputs["x"].neg_()
    inputs["c"][1::2].neg_()
    out = kernel.run(inputs)["out"].double()
    assert_within(out, expected, rounding(inputs["c"]), "out for -x and alternating c")


@given(case=cases)
def test_a_coefficient_of_0_more_changes_nothing(kernel, case):
    """A last coefficient of 0 raises the degree and leaves the polynomial as it is."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].double()
    longer = inputs["c"].new_zeros(len(inputs["c"]) + 1)
    longer[:-1] = inputs["c"]
    out = kernel.run({**inputs, "c": longer})["out"].double()
    assert_within(out, expected, rounding(inputs["c"]), "out with a last coefficient of 0")


@given(case=cases)
def test_half_the_coefficients_give_half_the_output(kernel, case):
    """Dividing all coefficients by 2 divides each output by 2."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].double() / 2
    inputs["c"].mul_(0.5)
    out = kernel.run(inputs)["out"].double()
    assert_within(out, expected, rounding(inputs["c"]), "out for half of each coefficient")


@given(case=cases, position=positions)
def test_each_output_depends_on_its_own_x(kernel, case, position):
    """Changing one element of x changes that output and no other."""
    inputs = kernel.inputs(case)
    inputs["c"][:2] = 1.0
    inputs["c"][2:] = 0.0
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * len(expected))
    inputs["x"][index] = -0.5
    out = kernel.run(inputs)["out"]
    assert_within(out[index], 0.5, 0.0, f"the changed out at {index}")
    out[index] = expected[index]
    assert_within(out, expected, 0.0, f"out away from a change at {index}")
