"""Laws of doubling."""

from hypothesis import given

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_twice_17_is_34(kernel, case):
    """Twice 17 is 34."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(17.0)
    assert_within(kernel.run(inputs)["out"], 34.0, 0.0, "twice 17")
