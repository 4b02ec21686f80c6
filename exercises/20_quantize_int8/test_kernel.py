"""Laws that hold for every row in 8 bits, and for every byte of two numbers."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, of_entry

rows_in_8_bits = cases_of(__file__, "quantize")
bytes_of_two = cases_of(__file__, "unpack")
positions = st.floats(0, 1, exclude_max=True)  # of a row, as a share of their number

# A scale is one quotient in float32, off by 2 units in the last place at most.
SCALE = 2 * 2.0**-23
# A product below the smallest normal number may be off by as much: a GPU may flush it to 0.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def in_steps(x):
    """Return x / scale in float64, with the true scale of each row."""
    wide = x.double()
    largest = wide.abs().amax(-1, keepdim=True)
    return 127 * wide / largest.where(largest > 0, 1.0)


def slack(x):
    """Return 1 near a tie, where float32 may round either way, and 0 elsewhere.

    The quotient is off by 2**-20 at most, relative to 1 + |x / scale|: three float32 steps.
    """
    steps = in_steps(x)
    from_a_tie = (steps - steps.floor() - 0.5).abs()
    return (from_a_tie <= 2.0**-20 * (1 + steps.abs())).double()


def both(result):
    """Copy q and scale to float64."""
    return result["q"].double(), result["scale"].double()


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_a_row_of_zeros_stays_zero(kernel, case):
    """A row of zeros has a q of zeros and a scale of 1."""
    inputs = kernel.inputs(case)
    inputs["x"][0] = 0.0
    q, scale = both(kernel.run(inputs))
    assert_within(q[0], 0.0, 0.0, "q of a row of zeros")
    assert_within(scale[:1], 1.0, 0.0, "scale of a row of zeros")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_the_largest_element_becomes_127_or_its_opposite(kernel, case):
    """The largest |x| of a row becomes 127, with the sign of x."""
    inputs = kernel.inputs(case)
    x = inputs["x"].double()
    q, _ = both(kernel.run(inputs))
    largest = (x.abs() == x.abs().amax(-1, keepdim=True)) & (x != 0)
    assert_within(q[largest], 127 * x.sign()[largest], 0.0, "q of the largest |x| of each row")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_back_and_forth_is_off_by_half_a_step(kernel, case):
    """q times scale is x, to half a scale."""
    inputs = kernel.inputs(case)
    x = inputs["x"].double()
    q, scale = both(kernel.run(inputs))
    steps = 0.5 + (2.0**-20 + SCALE) * (1 + in_steps(inputs["x"]).abs())
    limit = steps * x.abs().amax(-1, keepdim=True) / 127
    assert_within(q * scale.unsqueeze(-1), x, limit, "q * scale")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_a_power_of_two_changes_the_scale_alone(kernel, case):
    """x times a power of two has the scale times that power, and the same q."""
    inputs = kernel.inputs(case)
    x = inputs["x"].clamp_(-1000, 1000)
    x.masked_fill_(x.abs().amax(-1, keepdim=True) < 2.0**-20, 0.0)
    near, no_zeros = slack(x), (x != 0).any(-1)
    q, scale = both(kernel.run(inputs))
    # A float16 would lose digits on its way down, and what is tiny beside its row is 0 anyway.
    power = 2.0 if case.dtype == "float16" else 2.0**-60
    x.mul_(power)
    q_of_product, scale_of_product = both(kernel.run(inputs))
    assert_within(q_of_product, q, near, f"q of x * {power:.3g}")
    expected = scale * torch.where(no_zeros, power, 1.0)
    assert_within(scale_of_product, expected, 4 * SCALE * expected, f"scale of x * {power:.3g}")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_the_opposite_of_x_has_the_opposite_q(kernel, case):
    """-x has the same scale, and -q."""
    inputs = kernel.inputs(case)
    near = slack(inputs["x"])
    q, scale = both(kernel.run(inputs))
    inputs["x"].neg_()
    q_of_opposite, scale_of_opposite = both(kernel.run(inputs))
    assert_within(q_of_opposite, -q, near, "q of -x")
    assert_within(scale_of_opposite, scale, 2 * SCALE * scale, "scale of -x")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits)
def test_columns_in_another_order_have_the_same_q(kernel, case):
    """A row backwards has the same scale, and its q backwards."""
    inputs = kernel.inputs(case)
    near = slack(inputs["x"]).flip(-1)
    q, scale = both(kernel.run(inputs))
    inputs["x"].copy_(inputs["x"].flip(-1))
    backwards, scale_of_backwards = both(kernel.run(inputs))
    assert_within(backwards, q.flip(-1), near, "q of the row backwards")
    assert_within(scale_of_backwards, scale, 2 * SCALE * scale, "scale of the row backwards")


@of_entry(__file__, "quantize")
@given(case=rows_in_8_bits, down=positions)
def test_each_row_has_its_own_scale(kernel, case, down):
    """Changing one row changes that row of q and of scale, and no other."""
    inputs = kernel.inputs(case)
    q, scale = both(kernel.run(inputs))
    row = int(down * case.shape[0])
    inputs["x"][row] = -254.0
    after, scale_after = both(kernel.run(inputs))
    assert_within(after[row], -127.0, 0.0, f"q of the changed row {row}")
    assert_within(scale_after[row : row + 1], 2.0, 2 * SCALE, f"scale of the changed row {row}")
    after[row], scale_after[row] = q[row], scale[row]
    assert_within(after, q, 0.0, f"q of the rows other than {row}")
    assert_within(scale_after, scale, 0.0, f"scale of the rows other than {row}")


@of_entry(__file__, "unpack")
@given(case=bytes_of_two)
def test_each_byte_has_its_two_numbers(kernel, case):
    """With a scale of 1, byte 16 h + l gives l and h, and from 8 on 16 less."""
    inputs = kernel.inputs(case)
    packed, places = inputs["packed"], torch.arange(case.elements, device=inputs["packed"].device)
    packed.copy_((places * 37 % 256).reshape(case.shape))
    inputs["scale"].fill_(1.0)
    out = kernel.run(inputs)["out"].double()
    for first, name, number in ((0, "even", packed % 16), (1, "odd", packed // 16)):
        expected = number.double() - 16.0 * (number > 7)
        assert_within(out[:, first::2], expected, 0.0, f"{name} columns for a scale of 1")


@of_entry(__file__, "unpack")
@given(case=bytes_of_two)
def test_exchanged_halves_exchange_neighbours(kernel, case):
    """Bytes whose halves are exchanged give the same numbers, neighbours exchanged."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)["out"].double()
    packed = inputs["packed"]
    packed.copy_(packed // 16 + packed % 16 * 16)
    exchanged = kernel.run(inputs)["out"].double()
    assert_within(exchanged[:, 0::2], once[:, 1::2], 0.0, "even columns of exchanged halves")
    assert_within(exchanged[:, 1::2], once[:, 0::2], 0.0, "odd columns of exchanged halves")


@of_entry(__file__, "unpack")
@given(case=bytes_of_two)
def test_doubling_scale_doubles_out(kernel, case):
    """2 * scale gives twice the out."""
    inputs = kernel.inputs(case)
    inputs["scale"].clamp_(-1000, 1000)
    once = kernel.run(inputs)["out"].double()
    inputs["scale"].mul_(2)
    twice = kernel.run(inputs)["out"].double()
    # A product with a power of two is exact, so nothing but underflow may differ.
    assert_within(twice, 2 * once, 2 * UNDERFLOW[case.dtype], "out for twice the scale")


@of_entry(__file__, "unpack")
@given(case=bytes_of_two, down=positions)
def test_each_row_has_the_scale_of_its_own(kernel, case, down):
    """With a scale of 0, a row is 0, and all others stay."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    row = int(down * case.shape[0])
    inputs["scale"][row] = 0.0
    after = kernel.run(inputs)["out"]
    assert_within(after[row], 0.0, 0.0, f"out of row {row}, whose scale is 0")
    after[row] = before[row]
    assert_within(after, before, 0.0, f"out of the rows other than {row}")
