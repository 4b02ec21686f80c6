"""Laws that hold for every vector whose negative elements became 0."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases)
def test_a_vector_minus_its_mirror_image_is_the_vector(kernel, case):
    """relu(x) - relu(-x) is x."""
    inputs = kernel.inputs(case)
    x = inputs["x"].clone()
    above = kernel.run(inputs)["out"].clone()
    inputs["x"].neg_()
    below = kernel.run(inputs)["out"]
    assert (above - below).eq(x).all(), "relu(x) - relu(-x)"


@given(case=cases, position=positions)
def test_each_element_depends_on_its_own_place_only(kernel, case, position):
    """Changing one element of x changes that element of out, and no other."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["x"][at] = inputs["x"][at].abs() + 1000
    changed = kernel.run(inputs)["out"] != before
    assert changed.nonzero().flatten().tolist() == [at], f"after a change of x[{at}]"
