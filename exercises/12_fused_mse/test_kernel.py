"""Laws that hold for every mean squared error, whatever the numbers are."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.testing import assert_same_bits, assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
FLUSHED = 2.0**-126  # a GPU may take smaller float32 numbers for 0
MANY = 2**17  # elements: three blocks or more, if a block has at most 65,536
MOST = 2**20  # elements: a power of two, so that each share of 1 / n is exact


def long(case):
    """Return a case of many blocks, whose sums are not exact.

    Two partial sums are the same in either order, and so are sums of small whole numbers.
    """
    n = case.elements
    return replace(case, shape=(n if n >= MANY else MANY + n,), draw="rows")


def longest(case):
    """Return a case of so many elements that most grids of a fixed size go round twice or more."""
    return replace(case, shape=(MOST,))


def limit(loss, n):
    """Return how far two honest float32 outputs may differ.

    Each may be off by as much as the step `correctness` permits: max(8 * sqrt(n), 3/8 * n) * 2**-24
    of the loss, for an n of at most 8,192. All terms have one sign, so the loss is their size. The
    last part is for squares below float32's smallest normal number, which a GPU may take for 0.
    """
    terms = min(n, 8192)
    return 2 * (max(8 * terms**0.5, 0.375 * terms) * 2.0**-24 * loss.abs() + FLUSHED)


@given(case=cases.map(long))
def test_each_run_gives_the_same_bits(kernel, case):
    """The same input gives the same bits, in whichever order the programs come."""
    inputs = kernel.inputs(case)
    first = kernel.run(inputs)["loss"]
    for other_order in (True, False):
        again = kernel.run(inputs, other_order=other_order)["loss"]
        assert_same_bits(again, first, "the loss of a further run")


@given(case=cases, position=positions)
def test_each_element_counts_once(kernel, case, position):
    """If all differences are 0 but for a single 3, the loss is 9 / n."""
    inputs = kernel.inputs(case)
    index = int(position * case.elements)
    for vector in inputs.values():
        vector.zero_()
    inputs["target"][index] = 3.0
    loss = kernel.run(inputs)["loss"].double()
    # 9 and its sum with zeros are exact; 1 / n, and a product or quotient with it, are rounded.
    expected = 9.0 / case.elements
    assert_within(loss, expected, 2.0**-22 * expected, f"the loss with a 3 at {index}")


@settings(max_examples=2)  # vectors of this length take a tenth of a second each
@given(case=cases.map(longest))
def test_each_element_counts_the_same(kernel, case):
    """If all differences are 1, the loss is 1."""
    inputs = kernel.inputs(case)
    inputs["prediction"].fill_(1.0)
    inputs["target"].zero_()
    loss = kernel.run(inputs)["loss"]
    # Sums of ones are exact, also divided by 2**20; a GPU's division may be off by two units in the
    # last place. One element more or less is twice this limit.
    assert_within(loss, 1.0, 2.0**-21, "the loss of differences of 1")


@given(case=cases)
def test_equal_vectors_have_no_loss(kernel, case):
    """mse(x, x) is 0."""
    inputs = kernel.inputs(case)
    inputs["target"].copy_(inputs["prediction"])
    assert_within(kernel.run(inputs)["loss"], 0.0, 0.0, "the loss of equal vectors")


@given(case=cases)
def test_prediction_and_target_may_be_exchanged(kernel, case):
    """mse(prediction, target) is mse(target, prediction)."""
    inputs = kernel.inputs(case)
    loss = kernel.run(inputs)["loss"].double()
    turned = {"prediction": inputs["target"], "target": inputs["prediction"]}
    exchanged = kernel.run(turned)["loss"].double()
    assert_within(exchanged, loss, limit(loss, case.elements), "mse(target, prediction)")


@given(case=cases)
def test_order_of_elements_does_not_matter(kernel, case):
    """Turning both vectors round leaves the loss as it was."""
    inputs = kernel.inputs(case)
    loss = kernel.run(inputs)["loss"].double()
    for vector in inputs.values():
        vector.copy_(vector.flip(0))
    turned = kernel.run(inputs)["loss"].double()
    assert_within(turned, loss, limit(loss, case.elements), "the loss of the turned vectors")


@given(case=cases)
def test_parts_add_up(kernel, case):
    """The losses of the even differences alone and of the odd ones alone add up to the loss."""
    inputs = kernel.inputs(case)
    prediction, target = inputs["prediction"], inputs["target"]
    every = target.clone()
    whole = kernel.run(inputs)["loss"].double()
    target[1::2] = prediction[1::2]
    even = kernel.run(inputs)["loss"].double()
    target.copy_(every)
    target[::2] = prediction[::2]
    odd = kernel.run(inputs)["loss"].double()
    allowed = 2 * limit(whole, case.elements)  # three answers are compared
    assert_within(even + odd, whole, allowed, "the loss of even plus that of odd differences")
