"""Laws that hold for the range of every row, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the rows or columns


@given(case=cases, down=positions, across=positions)
def test_a_single_element_is_the_range_of_its_row(kernel, case, down, across):
    """If x is 5 but for one 12, the range is 7 in that row, and 0 in the others."""
    inputs = kernel.inputs(case)
    row, column = int(down * case.shape[0]), int(across * case.shape[1])
    inputs["x"].fill_(5.0)
    inputs["x"][row, column] = 12.0
    out = kernel.run(inputs)["out"].tolist()
    alone = case.shape[1] == 1
    wanted = [7.0 if each == row and not alone else 0.0 for each in range(case.shape[0])]
    assert out == wanted, f"x is 12 at [{row}, {column}], and 5 elsewhere"


@given(case=cases)
def test_the_opposite_has_the_same_range(kernel, case):
    """-x has the range of x."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    inputs["x"].neg_()
    assert kernel.run(inputs)["out"].eq(before).all(), "the range of -x"
