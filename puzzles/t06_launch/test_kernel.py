"""Laws that hold for every softmax, whatever the numbers are."""

import math

from hypothesis import given

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
UNDERFLOW = 2.0**-125  # a GPU may take float32 numbers that are smaller for 0


def rounding(x, argument=1):
    """Return how much two honest outputs may differ, for each element of `x`; float64.

    Each may miss the true share by one rounding, and by what float32 arithmetic loses:
    8 * sqrt(columns) * 2**-24 for the sum, times 1 + max - x because exp passes the rounding of its
    argument on. `argument` takes the place of the 1 where x is large.
    """
    x = x.double()
    depth = argument + (x.amax(-1, keepdim=True) - x)
    each = 2.0**-23 + 8 * math.sqrt(x.shape[-1]) * 2.0**-24 * depth
    return 2 * each * x.softmax(-1) + UNDERFLOW


@given(case=cases)
def test_every_row_has_the_sum_1(kernel, case):
    """The values of a row lie between 0 and 1, and their sum is 1."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].double()
    # From 0 to 1 is half and half; float32 may round a quotient of equals to 1 + 2**-22.
    assert_within(out, 0.5, 0.5 + 2.0**-22, "shares, as 0.5 ± 0.5")
    assert_within(out.sum(-1), 1.0, rounding(inputs["x"]).sum(-1), "row sums")


@given(case=cases)
def test_a_shift_changes_nothing(kernel, case):
    """softmax(x + 128) is softmax(x)."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    # float32 holds whole numbers of this size exactly, before the shift and after it.
    x.copy_(x.double().clamp(-64, 64).round())
    limit = rounding(x, argument=192)
    expected = kernel.run(inputs)["out"].double()
    x.add_(128)
    out = kernel.run(inputs)["out"].double()
    assert_within(out, expected, limit, "softmax(x + 128) against softmax(x)")
