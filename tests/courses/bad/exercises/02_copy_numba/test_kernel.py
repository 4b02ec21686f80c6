from hypothesis import given, settings

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)


@settings(max_examples=3)
@given(case=cases)
def test_a_copy_is_equal(kernel, case):
    """A copy is its original."""
    inputs = kernel.inputs(case)
    assert_within(kernel.run(inputs)["out"], inputs["x"], 0.0, "the copy")
