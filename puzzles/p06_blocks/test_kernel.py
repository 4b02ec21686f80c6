"""Laws that hold for every array with its places added to it."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases)
def test_zeros_become_their_places(kernel, case):
    """If all of a is 0, out counts 0, 1, 2 and so on, through all blocks."""
    inputs = kernel.inputs(case)
    inputs["a"].zero_()
    out = kernel.run(inputs)["out"].tolist()
    assert out == [float(i) for i in range(case.elements)], f"{case.elements} zeros"


@given(case=cases, position=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, position):
    """Changing one element of a changes that element of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["a"][at] = inputs["a"][at] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of a[{at}]"
