from hypothesis import given, settings

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)


@settings(max_examples=10)
@given(case=cases)
def test_what_is_kept_is_x(kernel, case):
    """With `keep`, acc holds x afterwards."""
    inputs = kernel.inputs(case) | {"keep": True, "shift": 0}
    assert_within(kernel.run(inputs)["acc"], inputs["x"], 0.0, "acc")
