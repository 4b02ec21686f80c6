"""Laws that hold for every table of products, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or column, as a share of their number


@given(case=cases, down=positions, across=positions)
def test_an_element_of_each_array_makes_one_row_and_one_column(kernel, case, down, across):
    """If a is 0 but for one 1, and b too, the table has one 1: in their row and column."""
    rows, columns = case.shape
    row, column = int(down * rows), int(across * columns)
    inputs = kernel.inputs(case)
    inputs["a"].zero_()
    inputs["a"][row] = 1.0
    inputs["b"].zero_()
    inputs["b"][column] = 1.0
    out = kernel.run(inputs)["out"]
    assert out.nonzero().tolist() == [[row, column]], f"a 1 in a[{row}] and in b[{column}]"
    assert out[row, column] == 1.0, f"out[{row}, {column}]"


@given(case=cases)
def test_swapped_arrays_turn_the_table(kernel, case):
    """The table of b and a is that of a and b with rows and columns swapped."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].clone()
    turned = kernel.run({"a": inputs["b"][:8].clone(), "b": inputs["a"]})["out"]
    # A table has 8 rows at most. Products are rounded once, in either order: no digit may differ.
    assert turned.eq(out.T[:8]).all(), "the table of b and a"
