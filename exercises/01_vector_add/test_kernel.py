"""Laws that hold for every vector addition, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# An addition rounds once, and none of these sums needs rounding: there is no error to permit.
# But a GPU may take a float32 below its smallest normal number for 0.
FLUSHED = 2.0**-126


@given(case=cases)
def test_adding_zero_changes_nothing(kernel, case):
    """x + 0 is x."""
    inputs = kernel.inputs(case)
    inputs["y"].zero_()
    out = kernel.run(inputs)["out"]
    assert_within(out, inputs["x"], FLUSHED, "x + 0")


@given(case=cases)
def test_opposites_cancel(kernel, case):
    """x + (-x) is 0."""
    inputs = kernel.inputs(case)
    inputs["y"].copy_(-inputs["x"])
    out = kernel.run(inputs)["out"]
    assert_within(out, 0.0, 0.0, "x + (-x)")


@given(case=cases)
def test_order_of_arguments_does_not_matter(kernel, case):
    """x + y is y + x."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"]
    swapped = kernel.run({"x": inputs["y"], "y": inputs["x"]})["out"]
    assert_within(swapped, out, 0.0, "y + x against x + y")


@given(case=cases, position=positions)
def test_each_sum_depends_on_its_own_elements(kernel, case, position):
    """Changing one element of x and of y changes that sum and no other."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * case.elements)
    inputs["x"][index] = 1.0
    inputs["y"][index] = 2.0
    expected[index] = 3.0
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, f"the sums after a change at {index}")
