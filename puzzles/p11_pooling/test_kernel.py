"""Laws that hold for every moving maximum, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
WINDOW = 4  # elements that one output looks at, as the task has it


@given(case=cases, position=positions)
def test_a_peak_shows_in_its_windows_only(kernel, case, position):
    """An element larger than all others is the answer at its own place and the three after it."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    inputs["a"][at] = 1e6
    found = kernel.run(inputs)["out"].eq(1e6).nonzero().flatten().tolist()
    assert found == list(range(at, min(at + WINDOW, case.elements))), f"a[{at}] is the peak"


@given(case=cases)
def test_no_answer_is_smaller_than_its_element(kernel, case):
    """The largest of a window is at least the element that the window ends with."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"]
    assert out.ge(inputs["a"]).all(), "an answer is smaller than an element of its window"


@given(case=cases)
def test_all_negative_stays_negative(kernel, case):
    """If all of a is -3, so is all of out: nothing from outside the array is larger."""
    inputs = kernel.inputs(case)
    inputs["a"].fill_(-3.0)
    assert kernel.run(inputs)["out"].eq(-3.0).all(), "a was -3 everywhere"
