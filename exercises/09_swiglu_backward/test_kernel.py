"""Laws that hold for the gradients of every SwiGLU, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a row or a column, as a share of their number

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much, and
# where it is a factor that is lost, by the other factors times as much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def run(kernel, inputs):
    """Return both gradients in float64: dgate, dup."""
    outputs = kernel.run(inputs)
    return outputs["dgate"].double(), outputs["dup"].double()


def lost(case, inputs):
    """Return what underflow may cost where gate and up multiply the factor that is lost."""
    others = (1 + inputs["gate"].double().abs()) * (1 + inputs["up"].double().abs())
    return UNDERFLOW[case.dtype] + 2.0**-125 * others


@given(case=cases)
def test_doubling_dout_doubles_both_gradients(kernel, case):
    """Twice the dout gives twice dgate and twice dup."""
    inputs = kernel.inputs(case)
    dgate, dup = run(kernel, inputs)
    inputs["dout"].mul_(2)
    dgate_of_double, dup_of_double = run(kernel, inputs)
    # A product with a power of two is exact, so nothing but underflow may differ.
    limit = 2 * lost(case, inputs)
    assert_within(dgate_of_double, 2 * dgate, limit, "dgate for twice the dout")
    assert_within(dup_of_double, 2 * dup, limit, "dup for twice the dout")


@given(case=cases)
def test_up_scales_dgate_and_leaves_dup(kernel, case):
    """An up of -2 up gives -2 dgate, and the same dup."""
    inputs = kernel.inputs(case)
    dgate, dup = run(kernel, inputs)
    limit = 2 * lost(case, inputs)
    inputs["up"].mul_(-2)
    scaled, same = run(kernel, inputs)
    assert_within(scaled, -2 * dgate, limit, "dgate for -2 up")
    assert_within(same, dup, 0.0, "dup for -2 up")


@given(case=cases)
def test_a_gate_of_0_has_half_the_slope_and_passes_nothing(kernel, case):
    """A gate of 0 gives dgate = dout * up / 2, and dup = 0."""
    inputs = kernel.inputs(case)
    inputs["gate"][:, ::2] = 0.0
    dgate, dup = run(kernel, inputs)
    half = (inputs["dout"].double() * inputs["up"].double() / 2)[:, ::2]
    # A GPU's quick division is off by up to 2 * 2**-23, and each product and rounding adds less.
    limit = (eps(case.dtype) + 8 * 2.0**-23) * half.abs() + UNDERFLOW[case.dtype]
    assert_within(dgate[:, ::2], half, limit, "dgate under a gate of 0")
    assert_within(dup[:, ::2], 0.0, 0.0, "dup under a gate of 0")


@given(case=cases)
def test_slopes_of_opposite_gates_add_up_to_one(kernel, case):
    """dgate(gate) + dgate(-gate) is 1, and dup(gate) - dup(-gate) is gate, for dout = up = 1."""
    inputs = kernel.inputs(case)
    inputs["dout"].fill_(1.0)
    inputs["up"].fill_(1.0)
    gate = inputs["gate"].double()
    dgate, dup = run(kernel, inputs)
    inputs["gate"].neg_()
    dgate_of_opposite, dup_of_opposite = run(kernel, inputs)
    # The two slopes are together at most 1.2 in size, and rounding them to the output's type costs
    # at most 1.2 * eps / 2. An error of the sigmoid is passed on gate times, up to gate = 20:
    # from there on the sigmoid is 1 or next to 0.
    limit = eps(case.dtype) + (16 + 4 * gate.abs().clamp(max=20)) * 2.0**-24
    assert_within(dgate + dgate_of_opposite, 1.0, limit, "dgate(gate) + dgate(-gate)")
    # |silu(g)| + |silu(-g)| is |g|: half of the limit is for rounding it, as above.
    limit = (eps(case.dtype) + 16 * 2.0**-24) * gate.abs() + UNDERFLOW[case.dtype]
    assert_within(dup - dup_of_opposite, gate, limit, "dup(gate) - dup(-gate)")


def silu(gate):
    return gate * gate.sigmoid()


@given(case=cases)
def test_dgate_is_the_slope_of_silu(kernel, case):
    """dgate is how fast silu(gate) grows, times dout * up: seen by a step to either side."""
    inputs = kernel.inputs(case)
    inputs["gate"].clamp_(-30, 30)
    dgate, _ = run(kernel, inputs)
    gate = inputs["gate"].double()
    size = (inputs["dout"].double() * inputs["up"].double()).abs()
    step = 2.0**-12
    slope = (silu(gate + step) - silu(gate - step)) / (2 * step)
    # The third derivative of silu is less than 1/2 in size, so the quotient is off by less than
    # step**2 / 12. Rounding in float64 adds 2 * 30 * 2**-52 / step. The rest is the kernel's.
    limit = (step**2 / 12 + 2.0**-34 + (16 + 4 * gate.abs().clamp(max=20)) * 2.0**-24) * size
    limit += eps(case.dtype) * (slope.abs() * size) + UNDERFLOW[case.dtype]
    expected = inputs["dout"].double() * inputs["up"].double() * slope
    assert_within(dgate, expected, limit, "dgate against (silu(g + h) - silu(g - h)) / 2h")


@given(case=cases, down=positions, along=positions)
def test_each_pair_depends_on_its_own_elements(kernel, case, down, along):
    """Changing one element of dout, gate and up changes that dgate and dup, and no other."""
    inputs = kernel.inputs(case)
    expected = [values.clone() for values in run(kernel, inputs)]
    row, column = int(down * case.shape[0]), int(along * case.shape[1])
    inputs["dout"][row, column] = 0.5
    inputs["gate"][row, column] = 128.0  # sigmoid(128) is 1 as far as each of the types can tell
    inputs["up"][row, column] = 3.0
    found = run(kernel, inputs)
    place = f"row {row}, column {column}"
    for name, values, before, right in zip(
        ("dgate", "dup"), found, expected, (1.5, 64.0), strict=True
    ):
        # A GPU's quick division is off by up to 2 eps; products and the last rounding add two more.
        limit = 4 * eps(case.dtype) * right
        assert_within(values[row, column], right, limit, f"the changed {name}, {place}")
        values[row, column] = before[row, column]
        assert_within(values, before, 0.0, f"{name} away from the change in {place}")


@given(case=cases, down=positions, along=positions)
def test_nan_stays_nan(kernel, case, down, along):
    """A NaN in dout or in gate makes both gradients NaN, one in up makes dgate NaN, no others."""
    inputs = kernel.inputs(case)
    expected = [values.clone() for values in run(kernel, inputs)]
    row, column = int(down * case.shape[0]), int(along * case.shape[1])
    for changed in ("dout", "gate", "up"):
        before = inputs[changed][row, column].clone()
        inputs[changed][row, column] = math.nan
        for name, values, right in zip(
            ("dgate", "dup"), run(kernel, inputs), expected, strict=True
        ):
            if (changed, name) != ("up", "dup"):
                assert bool(values[row, column].isnan()), (
                    f"{name} at [{row}, {column}], where {changed} is NaN: expected nan, got "
                    f"{values[row, column]:.7g}. NaN > x and NaN < x are false: does a tl.where "
                    "put a number there?"
                )
                values[row, column] = right[row, column]
            place = f"row {row}, column {column}"
            assert_within(values, right, 0.0, f"{name} away from the NaN of {changed} in {place}")
        inputs[changed][row, column] = before
