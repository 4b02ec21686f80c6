"""Laws that hold for every difference of two arrays, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases, first=positions, second=positions)
def test_each_element_depends_on_its_own_pair_only(kernel, case, first, second):
    """Changing one element of a and one of b changes those elements of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    in_a, in_b = int(first * case.elements), int(second * case.elements)
    inputs["a"][in_a] = inputs["a"][in_a] + 1000
    inputs["b"][in_b] = inputs["b"][in_b] + 3000
    changed = (kernel.run(inputs)["out"] != before).nonzero().flatten().tolist()
    assert changed == sorted({in_a, in_b}), f"after a change of a[{in_a}] and b[{in_b}]"


@given(case=cases)
def test_swapped_arrays_turn_the_sign(kernel, case):
    """a - b and b - a differ in their sign alone."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].clone()
    swapped = kernel.run({"a": inputs["b"], "b": inputs["a"]})["out"]
    # Both are rounded from the same size, so not a digit may differ.
    assert swapped.eq(-out).all(), "b - a against a - b"
