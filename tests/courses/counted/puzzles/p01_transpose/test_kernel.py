"""What is true of every transposition."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_twice_is_as_before(kernel, case):
    """Transposed twice, all is as it was."""
    x = kernel.inputs(case)["x"]
    once = kernel.run({"x": x})["out"]
    assert (kernel.run({"x": once})["out"] == x).all()
