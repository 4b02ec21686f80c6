"""Laws that hold for every transposition, whatever the numbers are."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or column, as a share of their number


@given(case=cases)
def test_twice_is_as_before(kernel, case):
    """Transposing twice gives x again."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"]
    turned = kernel.inputs(replace(case, shape=case.shape[::-1]))
    turned["x"].copy_(once)
    twice = kernel.run(turned)["out"]
    assert twice.eq(inputs["x"]).all(), "transposing what came out"


@given(case=cases, down=positions, across=positions)
def test_each_element_has_one_place(kernel, case, down, across):
    """Changing the element in row r, column c changes row c, column r of out, and no other."""
    inputs = kernel.inputs(case)
    row, column = int(down * case.shape[0]), int(across * case.shape[1])
    before = kernel.run(inputs)["out"].clone()
    inputs["x"][row, column] += 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().tolist() == [[column, row]], f"after a change of x[{row}, {column}]"
