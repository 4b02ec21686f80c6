"""Laws that hold for every dot product, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
FLUSHED = 2.0**-126  # a GPU may take smaller float32 numbers for 0


def limit(a, b):
    """Return how far two honest float32 outputs may differ for terms as large as a_i * b_i.

    Each may be off by 8 * sqrt(n) * 2**-24 * sum|a_i * b_i|, as in the correctness step. The last
    part is for products below float32's smallest normal number, which a GPU may take for 0.
    """
    terms = a.numel()
    size = (a.double() * b.double()).abs().sum().item()
    return 2 * (8 * terms**0.5 * 2.0**-24 * size + terms * FLUSHED)


@given(case=cases, position=positions)
def test_each_product_counts_once(kernel, case, position):
    """If b is 0 but for a single 1, the output is a at that place."""
    inputs = kernel.inputs(case)
    index = int(position * case.elements)
    inputs["b"].zero_()
    inputs["b"][index] = 1.0
    out = kernel.run(inputs)["out"]
    # All other products are 0, and adding 0 is exact in any order.
    assert_within(out, inputs["a"][index], FLUSHED, f"the dot with a 1 at {index}")


@given(case=cases)
def test_order_of_arguments_does_not_matter(kernel, case):
    """dot(a, b) is dot(b, a)."""
    inputs = kernel.inputs(case)
    a, b = inputs["a"], inputs["b"]
    out = kernel.run(inputs)["out"].double()
    swapped = kernel.run({"a": b, "b": a})["out"].double()
    assert_within(swapped, out, limit(a, b), "dot(b, a) against dot(a, b)")


@given(case=cases)
def test_order_of_terms_does_not_matter(kernel, case):
    """Turning both vectors round leaves the sum as it was."""
    inputs = kernel.inputs(case)
    out = kernel.run(inputs)["out"].double()
    for vector in inputs.values():
        vector.copy_(vector.flip(0))
    turned = kernel.run(inputs)["out"].double()
    assert_within(turned, out, limit(inputs["a"], inputs["b"]), "the dot of the turned vectors")


@given(case=cases)
def test_parts_add_up(kernel, case):
    """The even terms and the odd terms together are all terms."""
    inputs = kernel.inputs(case)
    a, b = inputs["a"], inputs["b"]
    every = a.clone()
    allowed = 2 * limit(a, b)  # three answers are compared
    whole = kernel.run(inputs)["out"].double()
    a[1::2] = 0.0
    even = kernel.run(inputs)["out"].double()
    a.copy_(every)
    a[::2] = 0.0
    odd = kernel.run(inputs)["out"].double()
    assert_within(even + odd, whole, allowed, "even terms plus odd terms")
