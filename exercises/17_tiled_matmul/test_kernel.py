"""Laws that hold for every product of matrices, whatever the numbers are."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
places = st.floats(0, 1, exclude_max=True)  # of a row or a column, as a share of their number
powers = st.integers(-6, 8)  # of two; float16 ends at 65,504

LONG = 2_100  # terms: sums beyond 2,048 are rounded, even in float16


def whole(case):
    """Return the case with whole numbers: float32 holds their sums exactly, in any order."""
    return replace(case, draw="integers")


def long(case):
    """Return a case of whole numbers with few rows and columns, and a long sum for each element."""
    m, k, n = case.shape
    return replace(whole(case), shape=(min(m, 3), LONG + k, min(n, 40)))


@given(case=cases)
def test_the_unit_matrix_changes_nothing(kernel, case):
    """a · 1 is a and 1 · b is b, digit for digit: each sum has one term that is not 0."""
    for name in ("a", "b"):
        inputs = kernel.inputs(case)
        other = "b" if name == "a" else "a"
        expected = inputs[name].clone()
        inputs[other].zero_()
        inputs[other].fill_diagonal_(1.0)
        out = kernel.run(inputs)["out"]
        rows, columns = (min(pair) for pair in zip(out.shape, expected.shape, strict=True))
        what = "a · 1" if name == "a" else "1 · b"
        assert_within(out[:rows, :columns], expected[:rows, :columns], 0.0, what)
        assert_within(out[rows:], 0.0, 0.0, f"{what}, rows of zeros")
        assert_within(out[:, columns:], 0.0, 0.0, f"{what}, columns of zeros")


@given(case=cases.map(whole), power=powers)
def test_a_power_of_two_scales_every_digit(kernel, case, power):
    """If a is multiplied by a power of two, out is, too, and no digit changes."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].double() * 2.0**power
    inputs["a"].mul_(2.0**power)
    assert_within(kernel.run(inputs)["out"], expected, 0.0, f"out with a times 2**{power}")


@given(case=cases.map(whole), place=places)
def test_a_row_of_a_moves_its_row_of_out_alone(kernel, case, place):
    """A row of a that becomes far larger scales that row of out, and changes no other."""
    inputs = kernel.inputs(case)
    factor = 2.0**8 if case.dtype == "float16" else 2.0**40
    row = int(place * case.shape[0])
    expected = kernel.run(inputs)["out"].double()
    expected[row] *= factor
    inputs["a"][row].mul_(factor)
    assert_within(kernel.run(inputs)["out"], expected, 0.0, f"out with a larger row {row} of a")


@given(case=cases.map(whole), place=places)
def test_a_column_of_b_moves_its_column_of_out_alone(kernel, case, place):
    """A column of b that becomes 0 makes that column of out 0, and changes no other."""
    inputs = kernel.inputs(case)
    column = int(place * case.shape[2])
    expected = kernel.run(inputs)["out"].clone()
    expected[:, column] = 0.0
    inputs["b"][:, column] = 0.0
    assert_within(kernel.run(inputs)["out"], expected, 0.0, f"out with column {column} of b at 0")


@given(case=cases.map(whole))
def test_the_terms_may_come_in_any_order(kernel, case):
    """The terms backwards, in a and in b, have the same sums."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    inputs["a"].copy_(inputs["a"].flip(1))
    inputs["b"].copy_(inputs["b"].flip(0))
    assert_within(kernel.run(inputs)["out"], expected, 0.0, "out of the terms backwards")


@given(case=cases.map(long))
@settings(max_examples=6)
def test_long_sums_are_rounded_once(kernel, case):
    """Sums of thousands of whole numbers are exact until the store: no part is rounded before."""
    inputs = kernel.inputs(case)
    for name in ("a", "b"):
        inputs[name].add_(1.0)  # 0, 1 and 2: the sum grows with each term
    exact = inputs["a"].double() @ inputs["b"].double()
    out = kernel.run(inputs)["out"]
    assert_within(out, exact.to(out.dtype), 0.0, "sum of whole numbers, rounded once")
