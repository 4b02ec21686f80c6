"""Laws that hold for every map of a table, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or column, as a share of their number


@given(case=cases, down=positions, across=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, down, across):
    """Changing one element of a changes that element of out, and no other."""
    rows, columns = case.shape
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    row, column = int(down * rows), int(across * columns)
    inputs["a"][row, column] = inputs["a"][row, column] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().tolist() == [[row, column]], f"after a change of a[{row}, {column}]"


@given(case=cases, down=positions)
def test_a_row_alone_has_the_same_answer(kernel, case, down):
    """A table of a single row has the answer that this row has in a larger table."""
    a = kernel.inputs(case)["a"]
    whole = kernel.run({"a": a})["out"].clone()
    row = int(down * case.shape[0])
    alone = kernel.run({"a": a[row : row + 1].clone()})["out"]
    assert alone.eq(whole[row]).all(), f"row {row} alone"
