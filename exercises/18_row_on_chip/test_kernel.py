"""Laws that hold for every softmax, and those that programs which wait for each other may break."""

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
shifts = st.floats(0, 1, exclude_max=True)  # by a share of the row
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}
LONG = 20_011  # columns: three parts or more, if a part has at most 8,192


def long(case):
    """Return a case of a few rows of several parts."""
    rows, columns = case.shape
    return replace(case, shape=(min(rows, 3), columns if columns >= LONG else LONG + columns))


def limit(x, case):
    """Return how far two honest outputs may differ, for each element of `x`; float64.

    Each may miss the true probability p by one rounding to the output's type, and by what float32
    loses: 8 * sqrt(columns) * 2**-24 for the sum, times 2 + max - x, because exp passes on how its
    argument was rounded. Below its smallest normal number a format loses digits.
    """
    x = x.double()
    depth = 2 + (x.amax(-1, keepdim=True) - x)
    each = eps(case.dtype) + 8 * math.sqrt(case.shape[-1]) * 2.0**-24 * depth
    return 2 * each * x.softmax(-1) + UNDERFLOW[case.dtype]


@given(case=cases)
def test_every_row_is_a_distribution(kernel, case):
    """The values of a row lie between 0 and 1, and their sum is 1."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].double()
    # From 0 to 1 is half and half; float32 may round a quotient of equals to 1 + 2**-22.
    assert_within(out, 0.5, 0.5 + 2.0**-22, "probabilities, as 0.5 ± 0.5")
    assert_within(out.sum(-1), 1.0, limit(inputs["x"], case).sum(-1), "row sums")


@given(case=cases.map(long), shift=shifts)
@settings(max_examples=6)
def test_a_row_may_be_rotated(kernel, case, shift):
    """Rotating the columns of x rotates those of out: no part of a row is special."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    columns = int(shift * case.shape[-1])
    allowed = limit(x, case)
    expected = kernel.run(inputs)["out"].double()
    x.copy_(x.roll(columns, -1))
    out = kernel.run(inputs)["out"].double()
    assert_within(out.roll(-columns, -1), expected, allowed, "out for rotated rows, rotated back")


@given(case=cases.map(long))
@settings(max_examples=6)
def test_programs_may_come_in_any_order(kernel, case):
    """The same rows give the same probabilities, in whichever order the programs run."""
    inputs = kernel.inputs(case)
    allowed = limit(inputs["x"], case)
    first = kernel.run(inputs)["out"].double()
    again = kernel.run(inputs, other_order=True)["out"].double()
    assert_within(again, first, allowed, "out for programs in the other order")


@given(case=cases.map(long))
@settings(max_examples=6)
def test_calls_share_nothing(kernel, case):
    """A call that comes after another one finds nothing of it: a row gives what it gave before."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    allowed = limit(x, case)
    kept = x.clone()
    first = kernel.run(inputs)["out"].double()
    x.copy_(x.flip(0))
    kernel.run(inputs)
    x.copy_(kept)
    again = kernel.run(inputs)["out"].double()
    assert_within(again, first, allowed, "out of a further call")
