"""Laws that hold for every cross entropy of a linear layer, whatever the numbers are."""

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a token, as a share of their number

IGNORED = -100

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def wide(case):
    """Return a case with one word more than 4,096, of which the last two are likely ones.

    Its hidden columns suffice for no other word to come near these.
    """
    return replace(case, shape=(3, 32, 4_097), dtype="float32", draw="extremes")


def parts(inputs):
    """Return the shares, the one-hot rows and which tokens count (as 0 and 1); float64."""
    x, weight, target = inputs["x"].double(), inputs["weight"].double(), inputs["target"]
    shares = (x @ weight.T).softmax(-1)
    hot = shares.new_zeros(shares.shape).scatter_(-1, target.clamp(min=0).unsqueeze(-1), 1.0)
    return shares, hot, (target != IGNORED).double().unsqueeze(-1)


def rounding(inputs, case):
    """Return how much each output of an honest kernel may miss the truth; float64.

    `lost` is what one rounding to the case's dtype loses, and a float32 sum. With N = |x| times the
    largest |weight|, a logit is off by lost * N, and so the loss by twice that, and a share by a
    factor of exp(2 * lost * N). The gradient is rounded when it is stored, and dx once more. What
    is too small for the dtype is lost, of dx in each part of 16 words that a library adds up.
    """
    shares, hot, counts = parts(inputs)
    x, weight = inputs["x"].double().abs(), inputs["weight"].double().abs()
    longest = x.norm(dim=-1, keepdim=True) * weight.norm(dim=-1).max()
    sums = 8 * math.sqrt(max(case.shape)) * 2.0**-24
    lost = sums + (0.0 if case.dtype == "float32" else eps(case.dtype) / 2)
    number = counts.sum()
    of_logits = (2 * lost * longest).expm1() + sums * (1 + 4 * longest)
    rows = (shares * (of_logits + 4 * lost) + 4 * lost * hot) / number
    rows += UNDERFLOW[case.dtype] if case.dtype == "float16" else 0.0
    rows *= counts
    added = math.ceil(case.shape[2] / 16) / number
    of_losses = 2 * lost * longest + sums * (1 + math.log(case.shape[2]) + 4 * longest)
    return {
        "loss": ((of_losses * counts).sum() / number).reshape(1),
        "dx": (1 + eps(case.dtype)) * (rows @ weight) + UNDERFLOW[case.dtype] * (1 + added),
        "dweight": rows.T @ x + UNDERFLOW[case.dtype],
    }


def results(kernel, inputs):
    return {name: value.double() for name, value in kernel.run(inputs).items()}


@given(case=cases)
def test_equal_words_have_equal_shares(kernel, case):
    """If all rows of weight are equal, the loss is log(vocabulary) and dx is 0."""
    inputs = kernel.inputs(case)
    inputs["weight"].copy_(inputs["weight"][:1].clone().expand(inputs["weight"].shape))
    limit, got = rounding(inputs, case), results(kernel, inputs)
    assert_within(got["loss"], math.log(case.shape[2]), limit["loss"], "loss of equal words")
    assert_within(got["dx"], 0.0, limit["dx"], "dx of equal words")


@given(case=cases)
def test_tokens_of_zeros_leave_dweight_alone(kernel, case):
    """If x is 0, the loss is log(vocabulary) and dweight is 0."""
    inputs = kernel.inputs(case)
    inputs["x"].zero_()
    got = results(kernel, inputs)
    limit = rounding(inputs, case)["loss"]
    assert_within(got["loss"], math.log(case.shape[2]), limit, "loss of an x of 0")
    assert_within(got["dweight"], 0.0, 0.0, "dweight of an x of 0")


@given(case=cases)
def test_what_all_words_share_moves_nothing(kernel, case):
    """A column of weight with one value adds one number to all logits of a token.

    Whether that number is 0 or -400, loss, dweight and the other columns of dx are the same, and
    this column of dx is 0. exp of such a logit is 0: the maximum must not begin there.
    """
    inputs = kernel.inputs(case)
    inputs["x"][:, 0] = 1.0
    inputs["weight"][:, 0] = 0.0
    limit, without = rounding(inputs, case), results(kernel, inputs)
    inputs["weight"][:, 0] = -400.0
    more, shared = rounding(inputs, case), results(kernel, inputs)
    assert_within(shared["dx"][:, 0], 0.0, more["dx"][:, 0], "dx of a column that words share")
    for name, value in shared.items():
        if name == "dx":
            value[:, 0] = without[name][:, 0]
        assert_within(value, without[name], limit[name] + more[name], f"{name} with that column")


@given(case=cases)
def test_dweight_sums_to_zero_over_the_words(kernel, case):
    """A token's gradient sums to 0 over the words, and so does each column of dweight."""
    assert_sums_to_zero(kernel, case)


@settings(max_examples=2)
@given(case=cases.map(wide))
def test_each_word_counts_once(kernel, case):
    """A token's gradient sums to 0 also where one of the last words has nearly its whole share."""
    assert_sums_to_zero(kernel, case)


def assert_sums_to_zero(kernel, case):
    inputs = kernel.inputs(case)
    dweight = results(kernel, inputs)["dweight"]
    limit = rounding(inputs, case)["dweight"].sum(0)
    assert_within(dweight.sum(0), 0.0, limit, "sum of a column of dweight")


@given(case=cases)
def test_the_order_of_tokens_does_not_matter(kernel, case):
    """The tokens backwards have dx backwards, and the same loss and dweight."""
    inputs = kernel.inputs(case)
    limit, forwards = rounding(inputs, case), results(kernel, inputs)
    for name in ("x", "target"):
        inputs[name].copy_(inputs[name].flip(0))
    backwards = results(kernel, inputs)
    forwards["dx"], limit["dx"] = forwards["dx"].flip(0), limit["dx"].flip(0)
    for name, value in backwards.items():
        assert_within(value, forwards[name], 2 * limit[name], f"{name} of the tokens backwards")


@given(case=cases)
def test_equal_tokens_have_equal_dx(kernel, case):
    """Wherever a token is, its row of dx is that of each equal one."""
    inputs = kernel.inputs(case)
    inputs["target"].fill_(int(inputs["target"][0]))
    inputs["x"].copy_(inputs["x"][:1].clone().expand(inputs["x"].shape))
    dx = results(kernel, inputs)["dx"]
    limit = 2 * rounding(inputs, case)["dx"]
    assert_within(dx, dx[:1].expand(dx.shape), limit, "dx of equal tokens")


@given(case=cases, place=positions)
def test_a_target_moves_the_dx_of_its_token_alone(kernel, case, place):
    """Another target of one token changes that row of dx, and no other."""
    inputs = kernel.inputs(case)
    inputs["target"].clamp_(min=0)
    limit, before = rounding(inputs, case)["dx"], results(kernel, inputs)["dx"]
    token = int(place * case.shape[0])
    moved = int(inputs["target"][token]), (int(inputs["target"][token]) + 1) % case.shape[2]
    inputs["target"][token] = moved[1]
    limit, after = limit + rounding(inputs, case)["dx"], results(kernel, inputs)["dx"]
    weight = inputs["weight"].double()
    before[token] += (weight[moved[0]] - weight[moved[1]]) / case.shape[0]
    assert_within(after, before, limit, f"dx with another target of token {token}")


@given(case=cases)
def test_ignored_tokens_count_nowhere(kernel, case):
    """dx of an ignored token is 0, and what its x holds changes nothing."""
    inputs = kernel.inputs(case)
    ignored = inputs["target"] == IGNORED
    before = results(kernel, inputs)
    assert_within(before["dx"][ignored], 0.0, 0.0, "dx of ignored tokens")
    inputs["x"][ignored] = 1.0
    limit, after = rounding(inputs, case), results(kernel, inputs)
    for name, value in after.items():
        changed = f"{name} with another x of ignored tokens"
        assert_within(value, before[name], 2 * limit[name], changed)
