"""Laws that hold for every SwiGLU, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or a column, as a share of their number

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


@given(case=cases)
def test_doubling_up_doubles_out(kernel, case):
    """silu(gate) * 2 up is twice silu(gate) * up."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].double()
    inputs["up"].mul_(2)
    twice = kernel.run(inputs)["out"].double()
    # A product with a power of two is exact, so nothing but underflow may differ.
    assert_within(twice, 2 * once, UNDERFLOW[case.dtype], "out for twice the up")


@given(case=cases)
def test_a_closed_gate_lets_nothing_through(kernel, case):
    """out is 0 where gate is 0."""
    inputs = kernel.inputs(case)
    inputs["gate"][:, ::2] = 0.0
    out = kernel.run(inputs)["out"]
    assert_within(out[:, ::2], 0.0, 0.0, "out under a gate of 0")


@given(case=cases)
def test_silu_of_opposites_differ_by_their_gate(kernel, case):
    """silu(gate) - silu(-gate) is gate, seen with an up of 1."""
    inputs = kernel.inputs(case)
    inputs["up"].fill_(1.0)
    gate = inputs["gate"].double()
    of_gate = kernel.run(inputs)["out"].double()
    inputs["gate"].neg_()
    of_opposite = kernel.run(inputs)["out"].double()
    # |silu(g)| + |silu(-g)| is |g|, so rounding both to the output's type costs at most
    # eps / 2 * |g|; the other half and 16 * 2**-24 are for the steps before, done in float32.
    limit = (eps(case.dtype) + 16 * 2.0**-24) * gate.abs() + UNDERFLOW[case.dtype]
    assert_within(of_gate - of_opposite, gate, limit, "silu(gate) - silu(-gate)")


@given(case=cases, down=positions, along=positions)
def test_each_output_depends_on_its_own_elements(kernel, case, down, along):
    """Changing one element of gate and of up changes that output and no other."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    row, column = int(down * case.shape[0]), int(along * case.shape[1])
    inputs["gate"][row, column] = 128.0  # sigmoid(128) is 1 as far as each of the types can tell
    inputs["up"][row, column] = 3.0
    out = kernel.run(inputs)["out"]
    # A GPU's quick division is off by up to 2 eps; the product and the last rounding add one more.
    place = f"row {row}, column {column}"
    assert_within(out[row, column], 384.0, 4 * eps(case.dtype) * 384.0, f"the changed out, {place}")
    out[row, column] = expected[row, column]
    assert_within(out, expected, 0.0, f"out away from the change in {place}")
