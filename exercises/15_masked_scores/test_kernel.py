"""Laws that hold for every softmax, whatever the numbers are."""

# TODO(author): two properties or more of every right output.

import math

from hypothesis import given

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def rounding(x, case, argument=1):
    """Return how much two honest outputs may differ, for each element of `x`; float64.

    Each may miss the true probability p by one rounding to the output's type, and by what float32
    arithmetic loses: 8 * sqrt(columns) * 2**-24 for the sum, times 1 + max - x because exp passes
    the rounding of its argument on. `argument` takes the place of the 1 where x is large.
    """
    x = x.double()
    # In this order, for beside a large x the argument would be lost.
    depth = argument + (x.amax(-1, keepdim=True) - x)
    each = eps(case.dtype) + 8 * math.sqrt(case.shape[-1]) * 2.0**-24 * depth
    return 2 * each * x.softmax(-1) + UNDERFLOW[case.dtype]


@given(case=cases)
def test_every_row_is_a_distribution(kernel, case):
    """The values of a row lie between 0 and 1, and their sum is 1."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].double()
    # From 0 to 1 is half and half; float32 may round a quotient of equals to 1 + 2**-22.
    assert_within(out, 0.5, 0.5 + 2.0**-22, "probabilities, as 0.5 ± 0.5")
    assert_within(out.sum(-1), 1.0, rounding(inputs["x"], case).sum(-1), "row sums")


@given(case=cases)
def test_a_shift_changes_nothing(kernel, case):
    """softmax(x + 128) and softmax(x - 128) are softmax(x)."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    # Every dtype holds the integers from -192 to 192 exactly.
    x.copy_(x.double().clamp(-64, 64).round())
    # A kernel may multiply x and its maximum by log2(e) before it subtracts, and round both.
    limit = rounding(x, case, argument=192)
    expected = kernel.run(inputs)["out"].double()
    x.add_(128)
    higher = kernel.run(inputs)["out"].double()
    assert_within(higher, expected, limit, "softmax(x + 128) against softmax(x)")
    x.sub_(256)  # all below 0, where a maximum that begins at 0 would stay
    lower = kernel.run(inputs)["out"].double()
    assert_within(lower, expected, limit, "softmax(x - 128) against softmax(x)")


@given(case=cases)
def test_the_maximum_may_come_first_or_last(kernel, case):
    """A row sorted upwards and the same row sorted downwards give the same probabilities."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    # Upwards, every block brings a new maximum; downwards, only the first one does.
    x.copy_(x.sort(-1).values)
    limit = rounding(x, case)
    upwards = kernel.run(inputs)["out"].double()
    x.copy_(x.flip(-1))
    downwards = kernel.run(inputs)["out"].double()
    assert_within(upwards, downwards.flip(-1), limit, "out for the maximum last against first")


@given(case=cases)
def test_rows_may_come_in_any_order(kernel, case):
    """Reversing the rows of x reverses the rows of out."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    limit = rounding(x, case)
    expected = kernel.run(inputs)["out"].double()
    x.copy_(x.flip(0))
    out = kernel.run(inputs)["out"].double()
    assert_within(out.flip(0), expected, limit, "out for reversed rows, reversed back")


@given(case=cases)
def test_equal_entries_share_equally(kernel, case):
    """A row of n equal entries gives n times 1 / n."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    x.copy_(x[:, :1].clone().expand_as(x))
    out = kernel.run(inputs)["out"].double()
    assert_within(out, 1 / case.shape[-1], rounding(x, case), "out of a constant row")
