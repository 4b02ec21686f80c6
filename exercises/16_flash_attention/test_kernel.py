"""Laws that hold for every causal attention, whatever the numbers are."""

import math

from hypothesis import given

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)


@given(case=cases)
def test_shares_sum_to_one(kernel, case):
    """If all values are 1, all outputs are 1."""
    inputs = kernel.inputs(case)
    inputs["v"].fill_(1.0)
    assert_within(kernel.run(inputs)["out"], 1.0, 2 * eps(case.dtype) + 2.0**-14, "out of ones")
