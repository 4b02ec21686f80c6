"""Properties of every right answer."""

from hypothesis import given

from grader.testing import cases_of


@given(case=cases_of(__file__))
def test_what_is_copied_twice_is_the_same(kernel, case):
    """A copy of a copy is a copy."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"]
    assert (once == kernel.run({"x": once})["out"]).all()
