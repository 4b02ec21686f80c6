"""Laws that hold for every compaction, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases)
def test_what_was_kept_is_kept_again(kernel, case):
    """Doing it to what came out changes nothing."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].clone()
    inputs["a"].copy_(once)
    assert kernel.run(inputs)["out"].tolist() == once.tolist(), "keeping from what was kept"


@given(case=cases, position=positions)
def test_dropping_one_moves_those_after_it(kernel, case, position):
    """If one element is made negative, those kept after it move up by one place."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    a = inputs["a"]
    a[at] = 5.0
    before = kernel.run(inputs)["out"].tolist()
    place = int((a[:at] > 0).sum())
    a[at] = -5.0
    after = kernel.run(inputs)["out"].tolist()
    assert after == [*before[:place], *before[place + 1 :], 0.0], f"after a[{at}] became negative"
