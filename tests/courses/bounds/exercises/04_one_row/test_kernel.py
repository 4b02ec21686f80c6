"""Laws of the norm."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_the_opposite_of_x_gives_the_opposite(kernel, case):
    """A square has no sign."""
    inputs = kernel.inputs(case)
    once, opposite = (kernel.run({"x": x})["out"] for x in (inputs["x"], -inputs["x"]))
    assert (once == -opposite).all()
