"""Laws that hold for every histogram, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
BINS = 10


@given(case=cases)
def test_every_element_is_counted_once(kernel, case):
    """All counts together are the number of elements."""
    out = kernel.run(kernel.inputs(case))["out"]
    assert out.sum().item() == case.elements, "the sum of all counts"


@given(case=cases)
def test_order_does_not_matter(kernel, case):
    """The same numbers in another order have the same counts."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].tolist()
    inputs["data"].copy_(inputs["data"].flip(0))
    assert kernel.run(inputs)["out"].tolist() == before, "after turning data round"


@given(case=cases, position=positions, number=st.integers(0, BINS - 1))
def test_one_element_moves_one_count(kernel, case, position, number):
    """Changing one element takes 1 from its old count and gives 1 to its new one."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    expected = kernel.run(inputs)["out"].clone()
    expected[inputs["data"][at]] -= 1
    expected[number] += 1
    inputs["data"][at] = number
    out = kernel.run(inputs)["out"]
    assert out.tolist() == expected.tolist(), f"after data[{at}] became {number}"
