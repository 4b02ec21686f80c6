"""Laws that hold for every dot product, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length


@given(case=cases, position=positions)
def test_each_product_counts_once(kernel, case, position):
    """If b is 0 but for a single 1, the output is a at that place."""
    inputs = kernel.inputs(case)
    at = int(position * case.elements)
    inputs["b"].zero_()
    inputs["b"][at] = 1.0
    # All other products are 0, and adding 0 is exact in any order.
    assert kernel.run(inputs)["out"][0] == inputs["a"][at], f"b is 1 at {at}, and 0 elsewhere"


@given(case=cases)
def test_order_of_arguments_does_not_matter(kernel, case):
    """dot(a, b) is dot(b, a)."""
    inputs = kernel.inputs(case)
    a, b = inputs["a"], inputs["b"]
    out = kernel.run(inputs)["out"].double()
    swapped = kernel.run({"a": b, "b": a})["out"].double()
    # Each answer may be off by 8 * sqrt(n) * 2**-24 * sum|a_i * b_i|, as in the correctness step.
    size = (a.double() * b.double()).abs().sum().item()
    limit = 2 * 8 * case.elements**0.5 * 2.0**-24 * size
    assert_within(swapped, out, limit, "dot(b, a) against dot(a, b)")


@given(case=cases)
def test_all_ones_are_counted(kernel, case):
    """If all of a and of b is 1, the output is their length."""
    inputs = kernel.inputs(case)
    inputs["a"].fill_(1.0)
    inputs["b"].fill_(1.0)
    assert kernel.run(inputs)["out"][0] == case.elements, "a and b were 1 everywhere"
