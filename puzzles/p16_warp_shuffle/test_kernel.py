"""Laws that hold for the sums of warps, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
LANES = 32


@given(case=cases, position=positions)
def test_each_element_counts_in_the_sum_of_its_own_warp(kernel, case, position):
    """If a is 0 but for one element, that element is the sum of its warp; the others are 0."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    inputs["a"].zero_()
    inputs["a"][at] = 3.0
    out = kernel.run(inputs)["out"]
    assert out.nonzero().flatten().tolist() == [at // LANES], f"only a[{at}] was not 0"
    assert out[at // LANES].item() == 3.0, f"only a[{at}] was not 0, and it was 3"


@given(case=cases)
def test_order_within_a_warp_does_not_matter(kernel, case):
    """The same 32 elements in another order have the same sum."""
    inputs = kernel.inputs(case)
    a = inputs["a"]
    out = kernel.run(inputs)["out"].double()
    # A sum of 32 float32 is off by at most 31 * 2**-24 of the sum of their sizes, in any order.
    sizes = [part.double().abs().sum().item() for part in a.split(LANES)]
    limit = out.new_tensor(sizes) * (2 * 31 * 2.0**-24) + 2.0**-126
    for part in a.split(LANES):
        part.copy_(part.flip(0))
    assert_within(kernel.run(inputs)["out"].double(), out, limit, "out after turning each warp")
