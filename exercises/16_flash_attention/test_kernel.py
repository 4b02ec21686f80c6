"""Laws that hold for every causal attention, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_same_bits, assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a token, as a share of their number

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-118, "bfloat16": 2.0**-118, "float16": 2.0**-24}


def rounding(inputs, case):
    """Return how much an output of an honest kernel may miss the truth; float64.

    `sums` is what a float32 sum loses. With N = |q| times the largest |k| so far, over √dimension,
    a share is off by a factor of exp(4 * N * sums) at most. In 16 bits the exponentials are rounded
    for the second product, and the output once more.
    """
    q, k, v = (inputs[name].double() for name in ("q", "k", "v"))
    _, tokens, dimension = q.shape
    longest = q.norm(dim=-1, keepdim=True) * k.norm(dim=-1, keepdim=True).cummax(1).values
    longest /= math.sqrt(dimension)
    scores = q @ k.mT / math.sqrt(dimension)
    later = scores.new_ones(tokens, tokens).triu(1) > 0
    shares = scores.masked_fill(later, -math.inf).softmax(-1)
    sizes = shares @ v.abs()
    sums = 8 * math.sqrt(max(tokens, dimension)) * 2.0**-24
    limit = sizes * (sums + (4 * sums * longest).expm1()) + eps(case.dtype) * sizes
    if case.dtype != "float32":
        limit += eps(case.dtype) * sizes
    if case.dtype == "float16":
        limit += 2.0**-25 * v.abs().cumsum(1)
    return limit + UNDERFLOW[case.dtype]


def out_of(kernel, inputs):
    return kernel.run(inputs)["out"]


@given(case=cases)
def test_shares_sum_to_one(kernel, case):
    """If all values are 1, all outputs are 1."""
    inputs = kernel.inputs(case)
    inputs["v"].fill_(1.0)
    assert_within(out_of(kernel, inputs), 1.0, rounding(inputs, case), "out of values of 1")


@given(case=cases)
def test_the_first_token_sees_itself_alone(kernel, case):
    """The first row of out is the first row of v."""
    inputs = kernel.inputs(case)
    first, limit = out_of(kernel, inputs)[:, 0], rounding(inputs, case)[:, 0]
    assert_within(first, inputs["v"][:, 0], limit, "first row of out")


@given(case=cases, place=positions)
def test_later_tokens_change_nothing(kernel, case, place):
    """Other keys and values from some token on leave all rows before it as they were, each bit."""
    inputs = kernel.inputs(case)
    token = int(place * case.shape[2])
    before = out_of(kernel, inputs)[:, :token].clone()
    inputs["k"][:, token:] = 1e3
    inputs["v"][:, token:] = -1e4
    after = out_of(kernel, inputs)[:, :token]
    assert_same_bits(after, before, f"out of the tokens before token {token}")


@given(case=cases)
def test_what_all_keys_share_moves_nothing(kernel, case):
    """A column of k with one value adds one number to all scores of a query.

    Whether that number is 0 or about -400, out is the same. exp of such a score is 0: the maximum
    must not begin there.
    """
    inputs = kernel.inputs(case)
    inputs["q"][:, :, 0] = 1.0
    inputs["k"][:, :, 0] = 0.0
    limit, without = rounding(inputs, case), out_of(kernel, inputs).clone()
    inputs["k"][:, :, 0] = -400.0 * math.sqrt(case.shape[1])
    limit += rounding(inputs, case)
    assert_within(out_of(kernel, inputs), without, limit, "out with that column")


@given(case=cases)
def test_twice_the_values_give_twice_the_output(kernel, case):
    """Doubling v doubles out: no share depends on v, and no product by 2 rounds."""
    inputs = kernel.inputs(case)
    once = out_of(kernel, inputs).double()
    inputs["v"].mul_(2.0)
    twice = out_of(kernel, inputs)
    assert_within(twice, 2 * once, 2 * UNDERFLOW[case.dtype], "out of twice the values")


@given(case=cases)
def test_heads_are_independent(kernel, case):
    """The heads backwards have the same outputs backwards."""
    inputs = kernel.inputs(case)
    limit, forwards = rounding(inputs, case).flip(0), out_of(kernel, inputs).flip(0)
    for name in ("q", "k", "v"):
        inputs[name].copy_(inputs[name].flip(0))
    assert_within(out_of(kernel, inputs), forwards, 2 * limit, "out of the heads backwards")


@given(case=cases)
def test_queries_of_zeros_see_all_keys_alike(kernel, case):
    """If q is 0, a row of out is the mean of the values so far."""
    inputs = kernel.inputs(case)
    inputs["q"].zero_()
    values = inputs["v"].double()
    counts = values.new_ones(values.shape[:2]).cumsum(1).unsqueeze(-1)
    limit = rounding(inputs, case)
    assert_within(out_of(kernel, inputs), values.cumsum(1) / counts, limit, "out of a q of 0")
