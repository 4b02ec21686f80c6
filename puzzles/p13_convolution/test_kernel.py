"""Laws that hold for every convolution, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
WIDTH = 4  # weights, as the task has it


@given(case=cases, position=positions)
def test_a_single_one_shows_the_weights(kernel, case, position):
    """If a is 0 but for a single 1, out is the weights, backwards, up to that place."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    inputs["a"].zero_()
    inputs["a"][at] = 1.0
    # All other products are 0, and adding 0 is exact in any order.
    out = kernel.run(inputs)["out"].tolist()
    wanted = [0.0] * case.elements
    for k in range(min(WIDTH, at + 1)):
        wanted[at - k] = inputs["weights"][k].item()
    assert out == wanted, f"a is 1 at {at}, and 0 elsewhere"


@given(case=cases, k=st.integers(0, WIDTH - 1))
def test_a_single_weight_moves_the_array(kernel, case, k):
    """If only weights[k] is 1 and the others are 0, out is a moved by k places."""
    inputs = kernel.inputs(case)
    inputs["weights"].zero_()
    inputs["weights"][k] = 1.0
    out = kernel.run(inputs)["out"].tolist()
    wanted = inputs["a"].tolist()[k:] + [0.0] * min(k, case.elements)
    assert out == wanted, f"weights[{k}] is 1, and the others are 0"
