"""Laws that hold for the sum and the maximum of every row, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the rows or columns


@given(case=cases)
def test_minus_ones_count_the_columns(kernel, case):
    """If all of x is -1, each total is minus the number of columns, and each maximum is -1."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(-1.0)
    outputs = kernel.run(inputs)
    assert outputs["total"].eq(-case.shape[1]).all(), "x was -1 everywhere"
    assert outputs["highest"].eq(-1).all(), "x was -1 everywhere"


@given(case=cases, down=positions, across=positions)
def test_a_single_element_shows_in_its_row(kernel, case, down, across):
    """If x is 0 but for one 7, total and highest are 7 in that row, and 0 in the others."""
    inputs = kernel.inputs(case)
    row, column = int(down * case.shape[0]), int(across * case.shape[1])
    inputs["x"].zero_()
    inputs["x"][row, column] = 7.0
    outputs = kernel.run(inputs)
    wanted = [7.0 if each == row else 0.0 for each in range(case.shape[0])]
    for name in ("total", "highest"):
        assert outputs[name].tolist() == wanted, f"{name}: x is 7 at [{row}, {column}]"
