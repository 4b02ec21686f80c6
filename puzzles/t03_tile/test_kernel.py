"""Laws that hold for every table with one row added to its rows."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or column, as a share of their number


@given(case=cases, down=positions, across=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, down, across):
    """Changing one element of x changes that element of out, and no other."""
    rows, columns = case.shape
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    row, column = int(down * rows), int(across * columns)
    inputs["x"][row, column] = inputs["x"][row, column] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().tolist() == [[row, column]], f"after a change of x[{row}, {column}]"


@given(case=cases, across=positions)
def test_an_element_of_bias_changes_its_column(kernel, case, across):
    """Changing one element of bias changes that column of out in every row, and no other."""
    rows, columns = case.shape
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    column = int(across * columns)
    inputs["bias"][column] = inputs["bias"][column] + 1000
    changed = kernel.run(inputs)["out"] != before
    expected = [[row, column] for row in range(rows)]
    assert changed.nonzero().tolist() == expected, f"after a change of bias[{column}]"
