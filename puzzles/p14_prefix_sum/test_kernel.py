"""Laws that hold for every prefix sum, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
THREADS = 32  # in a block, as the task has it


@given(case=cases)
def test_ones_count_the_places(kernel, case):
    """If all of a is 1, out counts 1, 2, 3 and so on, anew in each block."""
    inputs = kernel.inputs(case)
    inputs["a"].fill_(1.0)
    out = kernel.run(inputs)["out"].tolist()
    assert out == [i % THREADS + 1 for i in range(case.elements)], "a was 1 everywhere"


@given(case=cases, position=positions)
def test_a_single_element_shows_from_its_place_on(kernel, case, position):
    """If a is 0 but for one element, out is that element from there to the end of its block."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    inputs["a"].zero_()
    inputs["a"][at] = 7.0
    found = kernel.run(inputs)["out"].eq(7.0).nonzero().flatten().tolist()
    end = min(case.elements, at - at % THREADS + THREADS)
    assert found == list(range(at, end)), f"a is 7 at {at}, and 0 elsewhere"
