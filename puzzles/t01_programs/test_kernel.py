"""Laws that hold for every table of products, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases)
def test_ones_count_the_columns(kernel, case):
    """If all of x is 1, each row of out is 0, 1, 2 and so on."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(1.0)
    out = kernel.run(inputs)["out"].tolist()
    assert out == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]] * case.elements, "x was 1 everywhere"


@given(case=cases, position=positions)
def test_each_row_depends_on_its_own_element_only(kernel, case, position):
    """Changing one element of x changes its row of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["x"][at] = inputs["x"][at] + 1000
    changed = (kernel.run(inputs)["out"] != before).any(-1)
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of x[{at}]"
