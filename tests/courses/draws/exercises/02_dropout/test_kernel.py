"""Laws of dropout."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_the_opposite_of_x_gives_the_opposite(kernel, case):
    """The same seed drops the same elements, whatever their signs."""
    inputs = kernel.inputs(case)
    once, opposite = (kernel.run({**inputs, "x": x})["out"] for x in (inputs["x"], -inputs["x"]))
    assert (once == -opposite).all()
