"""Laws of dropout."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_without_x_the_residual_remains(kernel, case):
    """Whatever is dropped of zeros, the residual is the output."""
    inputs = kernel.inputs(case)
    out = kernel.run({**inputs, "x": inputs["x"] * 0})["out"]
    assert (out == inputs["residual"]).all()
