"""Laws that hold for the sums of rows, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the rows or columns


@given(case=cases, down=positions, across=positions)
def test_a_single_element_is_the_sum_of_its_row(kernel, case, down, across):
    """If a is 0 but for one element, out is that element in its row, and 0 in the others."""
    inputs = kernel.inputs(case)
    row, column = int(down * case.shape[0]), int(across * case.shape[1])
    inputs["a"].zero_()
    inputs["a"][row, column] = 7.0
    out = kernel.run(inputs)["out"].tolist()
    wanted = [7.0 if each == row else 0.0 for each in range(case.shape[0])]
    assert out == wanted, f"a is 7 at [{row}, {column}], and 0 elsewhere"


@given(case=cases)
def test_ones_count_the_columns(kernel, case):
    """If all of a is 1, each sum is the number of columns."""
    inputs = kernel.inputs(case)
    inputs["a"].fill_(1.0)
    assert kernel.run(inputs)["out"].eq(case.shape[1]).all(), "a was 1 everywhere"
