"""What is true of every doubling."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_zero_stays_zero(kernel, case):
    """Where all of x is 0, so is all of out."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(0.0)
    assert kernel.run(inputs)["out"].eq(0.0).all(), "x was 0 everywhere"
