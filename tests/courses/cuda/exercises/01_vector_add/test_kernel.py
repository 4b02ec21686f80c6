"""What is true of every sum."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_x_is_left_where_y_is_zero(kernel, case):
    """Where y is 0, out is x."""
    inputs = kernel.inputs(case)
    inputs["y"].fill_(0.0)
    assert kernel.run(inputs)["out"].eq(inputs["x"]).all(), "out is not x, and y was 0"
