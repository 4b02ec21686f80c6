"""Laws of the polynomial."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_of_0_it_is_1(kernel, case):
    """Only the constant is left."""
    inputs = kernel.inputs(case)
    assert (kernel.run({**inputs, "x": inputs["x"] * 0})["out"] == 1).all()
