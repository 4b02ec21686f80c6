"""Laws that hold for every dropout with a residual, however its random numbers are made."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_same_bits, assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. 1 / (1 - p) at most doubles what is lost.
UNDERFLOW = {"float32": 2.0**-124, "bfloat16": 2.0**-124, "float16": 2.0**-23}


def long(case):
    """Return the case with so many more elements that one block does not hold them."""
    return replace(case, shape=(case.elements + 2**14,))


@given(case=cases)
def test_without_x_the_residual_is_left(kernel, case):
    """An x of 0 leaves residual in out, dropped or not."""
    inputs = kernel.inputs(case)
    inputs["x"].zero_()
    out = kernel.run(inputs)["out"]
    # Nothing is rounded. But a GPU may flush a subnormal residual.
    limit = 0.0 if case.dtype == "float16" else 2.0**-126
    assert_within(out, inputs["residual"], limit, "out where x is 0")


@given(case=cases.map(long))
def test_the_same_seed_gives_the_same_bits(kernel, case):
    """A second call gives the same bits, whichever program is first: the mask can be made again."""
    inputs = kernel.inputs(case)
    first = kernel.run(inputs)["out"]
    other = kernel.run(inputs, other_order=True)["out"]
    assert_same_bits(other, first, "out")


@given(case=cases)
def test_doubling_x_and_residual_doubles_out(kernel, case):
    """2 x and 2 residual give twice the output: the same elements are dropped."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].double()
    inputs["x"].mul_(2)
    inputs["residual"].mul_(2)
    twice = kernel.run(inputs)["out"].double()
    # A factor of two changes no digits, so nothing but underflow may differ.
    assert_within(twice, 2 * once, 2 * UNDERFLOW[case.dtype], "out for twice x and residual")


@given(case=cases)
def test_the_mask_depends_on_no_value(kernel, case):
    """The seed drops the same elements of any x: those of ones, and those of ones negated."""
    inputs = kernel.inputs(case)
    inputs["residual"].zero_()
    inputs["x"].fill_(1.0)
    positive = kernel.run(inputs)["out"].double()
    inputs["x"].fill_(-1.0)
    negative = kernel.run(inputs)["out"].double()
    assert_within(negative, -positive, 0.0, "out for an x of -1, against minus out for 1")


@given(case=cases, position=positions)
def test_each_output_depends_on_its_own_elements(kernel, case, position):
    """Changing one element of x and of residual changes that output and no other."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    index = int(position * case.elements)
    inputs["x"][index] = 0.0
    inputs["residual"][index] = 3.0
    expected[index] = 3.0
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, f"out after a change at {index}")
