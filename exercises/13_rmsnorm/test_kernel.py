"""Laws that hold for every RMSNorm and its gradients, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps, of_entry

forward = cases_of(__file__, "rms_norm")
backward = cases_of(__file__, "rms_norm_backward")
positions = st.floats(0, 1, exclude_max=True)  # of a row, as a share of their number

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def accumulation(terms):
    """Return what a float32 sum of so many terms may lose, relative to the sum of their sizes."""
    return 8 * (1 + math.sqrt(terms)) * 2.0**-24


def xhat(inputs):
    return inputs["x"].double() * inputs["rstd"].double().unsqueeze(-1)


def dx_rounding(inputs, case):
    """Return how much each element of dx may miss the truth; float64.

    One rounding to the output's type, and what float32 loses, relative to the two terms of dx.
    """
    rstd, normalized = inputs["rstd"].double().unsqueeze(-1), xhat(inputs).abs()
    scaled = (inputs["weight"].double() * inputs["dout"].double()).abs()
    terms = rstd * (scaled + normalized * (scaled * normalized).mean(-1, keepdim=True))
    return (eps(case.dtype) + accumulation(case.shape[1])) * terms + UNDERFLOW[case.dtype]


def dweight_rounding(inputs, case):
    """Return how much each element of dweight may miss the truth, as a float32 sum; float64."""
    terms = (inputs["dout"].double() * xhat(inputs)).abs()
    return accumulation(case.shape[0]) * terms.sum(0) + case.shape[0] * UNDERFLOW["float32"]


@of_entry(__file__, "rms_norm")
@given(case=forward)
def test_a_row_of_zeros_stays_zero(kernel, case):
    """out is 0 and rstd is 1 / sqrt(eps) where all of a row is 0."""
    inputs = kernel.inputs(case)
    inputs["x"][0] = 0.0
    result = kernel.run(inputs)
    expected = 1 / math.sqrt(inputs["eps"])
    assert_within(result["out"][0], 0.0, 0.0, "out of a row of zeros")
    assert_within(result["rstd"][:1], expected, 8 * 2.0**-24 * expected, "rstd of a row of zeros")


@of_entry(__file__, "rms_norm")
@given(case=forward)
def test_normalized_rows_have_a_mean_square_near_one(kernel, case):
    """With weights of 1, the mean of out * out is 1 - eps * rstd * rstd."""
    inputs = kernel.inputs(case)
    inputs["weight"].fill_(1.0)
    result = kernel.run(inputs)
    mean_square = result["out"].double().square().mean(-1)
    # Both sides are at most 1. A relative error of out, or of rstd, counts twice in its square.
    limit = 4 * (eps(case.dtype) + accumulation(case.shape[1]))
    expected = 1 - inputs["eps"] * result["rstd"].double().square()
    assert_within(mean_square, expected, limit, "mean of out * out")


@of_entry(__file__, "rms_norm")
@given(case=forward)
def test_doubling_weight_doubles_out(kernel, case):
    """2 * weight gives twice the out, and the same rstd."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)
    once = {name: value.double() for name, value in once.items()}
    inputs["weight"].mul_(2)
    twice = kernel.run(inputs)
    # A product with a power of two is exact, so nothing but underflow may differ.
    limit = UNDERFLOW[case.dtype] * (1 + once["rstd"].unsqueeze(-1))
    assert_within(twice["out"].double(), 2 * once["out"], limit, "out for twice the weight")
    assert_within(twice["rstd"], once["rstd"], 0.0, "rstd for twice the weight")


@of_entry(__file__, "rms_norm")
@given(case=forward, down=positions)
def test_each_row_is_normalized_by_itself(kernel, case, down):
    """Changing one row changes that row of out and of rstd, and no other."""
    inputs = kernel.inputs(case)
    before = {name: value.clone() for name, value in kernel.run(inputs).items()}
    row = int(down * case.shape[0])
    inputs["x"][row] = 64.0
    after = kernel.run(inputs)
    expected = 1 / math.sqrt(64.0**2 + inputs["eps"])
    limit = accumulation(case.shape[1]) * expected
    assert_within(after["rstd"][row], expected, limit, f"rstd of the changed row {row}")
    for name, value in after.items():
        value[row] = before[name][row]
        assert_within(value, before[name], 0.0, f"{name} of the rows other than {row}")


@of_entry(__file__, "rms_norm_backward")
@given(case=backward)
def test_no_gradient_gives_none(kernel, case):
    """dx and dweight are 0 where dout is."""
    inputs = kernel.inputs(case)
    inputs["dout"].zero_()
    result = kernel.run(inputs)
    assert_within(result["dx"], 0.0, 0.0, "dx for a dout of 0")
    assert_within(result["dweight"], 0.0, 0.0, "dweight for a dout of 0")


@of_entry(__file__, "rms_norm_backward")
@given(case=backward)
def test_dx_is_orthogonal_to_x(kernel, case):
    """Along x nothing changes, for x and 2 x have one norm: the sum of dx * x is 0."""
    inputs = kernel.inputs(case)
    x = inputs["x"]
    x[:, 0] = 1.0  # no row is 0, whose norm would be eps alone
    inputs["rstd"].copy_(x.double().square().mean(-1).rsqrt())  # without eps
    dx = kernel.run(inputs)["dx"].double()
    limit = (dx_rounding(inputs, case) * x.double().abs()).sum(-1)
    assert_within((dx * x.double()).sum(-1), 0.0, limit, "sum of dx * x of each row")


@of_entry(__file__, "rms_norm_backward")
@given(case=backward)
def test_dweight_adds_up_over_the_rows(kernel, case):
    """dweight of the even rows and that of the odd rows add up to that of all rows."""
    inputs = kernel.inputs(case)
    dout, limit = inputs["dout"].clone(), 3 * dweight_rounding(inputs, case)
    whole = kernel.run(inputs)["dweight"].double()
    parts = []
    for left_out in (0, 1):
        inputs["dout"].copy_(dout)
        inputs["dout"][left_out::2] = 0.0
        parts.append(kernel.run(inputs)["dweight"].double())
    assert_within(parts[0] + parts[1], whole, limit, "dweight of the odd and the even rows")


@of_entry(__file__, "rms_norm_backward")
@given(case=backward, down=positions)
def test_each_row_of_dx_depends_on_its_own_dout(kernel, case, down):
    """Without the dout of one row, that row of dx is 0, and all others stay."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["dx"].clone()
    row = int(down * case.shape[0])
    inputs["dout"][row] = 0.0
    after = kernel.run(inputs)["dx"]
    assert_within(after[row], 0.0, 0.0, f"dx of row {row}, whose dout is 0")
    after[row] = before[row]
    assert_within(after, before, 0.0, f"dx of the rows other than {row}")
