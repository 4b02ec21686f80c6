"""Laws that hold for changing signs, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases)
def test_twice_is_as_before(kernel, case):
    """Changing every sign twice gives a again."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].clone()
    twice = kernel.run({"a": once})["out"]
    assert twice.eq(inputs["a"]).all(), "the signs were changed twice"


@given(case=cases, position=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, position):
    """Changing one element of a changes that element of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["a"][at] = inputs["a"][at] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of a[{at}]"
