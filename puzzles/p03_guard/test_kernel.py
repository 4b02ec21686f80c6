"""Laws that hold for every doubled array, however long it is."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
shares = st.floats(0, 1, exclude_max=True)  # of the length


@given(case=cases, share=shares)
def test_a_shorter_array_has_the_same_answer_as_far_as_it_goes(kernel, case, share):
    """Cutting elements off the end of a leaves those before them as they were."""
    a = kernel.inputs(case)["a"]
    whole = kernel.run({"a": a})["out"].clone()
    length = 1 + int(share * (case.elements - 1))
    part = kernel.run({"a": a[:length].clone()})["out"]
    assert part.eq(whole[:length]).all(), f"the first {length} of {case.elements} elements"


@given(case=cases, share=shares)
def test_each_element_depends_on_its_own_place_only(kernel, case, share):
    """Changing one element of a changes that element of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(share * case.elements)
    inputs["a"][at] = inputs["a"][at] + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of a[{at}]"
