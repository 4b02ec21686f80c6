"""Laws of a product."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_zeros_give_zeros(kernel, case):
    """Nothing is added to a product with 0."""
    inputs = kernel.inputs(case)
    assert (kernel.run({**inputs, "b": inputs["b"] * 0})["out"] == 0).all()
