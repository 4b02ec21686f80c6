"""Laws that hold for every map, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases, position=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, position):
    """Changing one element of a changes that element of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["a"][at] = inputs["a"][at] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of a[{at}]"


@given(case=cases)
def test_elements_that_are_alike_stay_alike(kernel, case):
    """If all of a is one number, so is all of out."""
    inputs = kernel.inputs(case)
    inputs["a"].fill_(3.0)
    assert kernel.run(inputs)["out"].eq(13.0).all(), "a was 3 everywhere"
