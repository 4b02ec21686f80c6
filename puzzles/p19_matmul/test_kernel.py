"""Laws that hold for every matrix product, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or column, as a share of their number


@given(case=cases, position=positions)
def test_a_one_in_b_picks_a_column_of_a(kernel, case, position):
    """If b is 0 but for a single 1, out has one column of a, and zeros."""
    inputs = kernel.inputs(case)
    a, b = inputs["a"], inputs["b"]
    at = int(position * b.numel())
    term, column = divmod(at, b.shape[1])
    b.zero_()
    b[term, column] = 1.0
    out = kernel.run(inputs)["out"]
    expected = out.new_zeros(out.shape)
    expected[:, column] = a[:, term]
    # All other products are 0, and adding 0 is exact in any order.
    assert_within(out, expected, 2.0**-126, f"out with a 1 at b[{term}, {column}] alone")


@given(case=cases, position=positions)
def test_each_row_of_a_makes_its_own_row_of_out(kernel, case, position):
    """Setting one row of a to 0 sets that row of out to 0, and leaves the others."""
    inputs = kernel.inputs(case)
    row = int(position * case.shape[0])
    expected = kernel.run(inputs)["out"].clone()
    expected[row] = 0.0
    inputs["a"][row] = 0.0
    out = kernel.run(inputs)["out"]
    assert out.eq(expected).all(), f"after row {row} of a became 0"
