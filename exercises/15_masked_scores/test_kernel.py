"""Laws that hold for all masked attention weights, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of a key, as a share of their number

HIDDEN = 32_768.0  # of a key that nobody sees; each dtype holds it

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def weights_of(inputs, case):
    """Return the weights, and how much two honest outputs may differ; both float64.

    Each may miss the true weight by one rounding to the output's type, and by what float32 loses: 8
    * sqrt(n) * 2**-24 for sums of n terms. With a = sum |q * k| / sqrt(d), a score is off by parts
    of a, and an exponential by parts of its argument.
    """
    q, k, mask = inputs["q"].double(), inputs["k"].double(), inputs["mask"]
    scale = q.shape[-1] ** -0.5
    scores = (q @ k.mT * scale).masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).masked_fill(~mask, 0.0)
    depth = (scores.amax(-1, keepdim=True) - scores).masked_fill(~mask, 0.0)
    terms = q.abs() @ k.abs().mT * scale
    mean = (weights * terms).sum(-1, keepdim=True)
    lost = 8 * math.sqrt(max(case.shape[2:])) * 2.0**-24 * (1 + depth + terms + mean)
    return weights, 2 * (eps(case.dtype) + lost) * weights + UNDERFLOW[case.dtype] * (weights > 0)


def out_of(kernel, inputs):
    return kernel.run(inputs)["out"].double()


@given(case=cases)
def test_every_query_shares_out_one_or_nothing(kernel, case):
    """Weights lie between 0 and 1; a query's sum to 1, or are all 0 if it may see no key."""
    inputs = kernel.inputs(case)
    out = out_of(kernel, inputs)
    _, limit = weights_of(inputs, case)
    some = inputs["mask"].any(-1)
    # From 0 to 1 is half and half; float32 may round a quotient of equals to 1 + 2**-22.
    assert_within(out, 0.5, 0.5 + 2.0**-22, "weights, as 0.5 ± 0.5")
    assert_within(out[:, some].sum(-1), 1.0, limit[:, some].sum(-1), "sums of queries that see")
    assert_within(out[:, ~some], 0.0, 0.0, "weights of queries that may see no key")


@given(case=cases, place=positions)
def test_a_hidden_key_counts_nowhere(kernel, case, place):
    """A key that no query may see has weights of 0, and what its k holds changes nothing."""
    inputs = kernel.inputs(case)
    key = int(place * case.shape[3])
    inputs["mask"][:, key] = False
    _, limit = weights_of(inputs, case)
    before = out_of(kernel, inputs)
    inputs["k"][:, key] = HIDDEN
    after = out_of(kernel, inputs)
    assert_within(after[..., key], 0.0, 0.0, f"weights of key {key}, which is hidden")
    assert_within(after, before, limit, f"weights with another k of hidden key {key}")


@given(case=cases)
def test_what_all_keys_share_changes_nothing(kernel, case):
    """A column of k with one value adds one number to all scores of a query.

    Whether that is 0, -400 or 400, its weights are the same.
    """
    inputs = kernel.inputs(case)
    d = case.shape[2]
    inputs["q"][..., 0] = 1.0
    inputs["q"][:, ::2, 0] = -1.0
    inputs["k"][..., 0] = 0.0
    without, (_, limit) = out_of(kernel, inputs), weights_of(inputs, case)
    inputs["k"][..., 0] = 2.0 ** math.ceil(math.log2(400 * d**0.5))
    shared, (_, more) = out_of(kernel, inputs), weights_of(inputs, case)
    assert_within(shared, without, limit + more, "weights with a column that keys share")


@given(case=cases)
def test_a_lone_key_has_all_the_weight(kernel, case):
    """If each query may see one key alone, that has the weight 1, wherever it is."""
    inputs = kernel.inputs(case)
    mask = inputs["mask"]
    mask.fill_(False)
    for query in range(case.shape[1]):
        mask[query, -1 - query % case.shape[3]] = True
    # float32 may round a quotient of equals to 1 ± 2**-22.
    assert_within(out_of(kernel, inputs), mask.double(), 2.0**-22 * mask, "weights of lone keys")


@given(case=cases)
def test_a_query_of_zeros_shares_equally(kernel, case):
    """If q of one batch is 0, n keys have 1 / n each there, and other batches stay as they were."""
    inputs = kernel.inputs(case)
    before, (_, limit) = out_of(kernel, inputs), weights_of(inputs, case)
    inputs["q"][0] = 0.0
    after, (weights, equal) = out_of(kernel, inputs), weights_of(inputs, case)
    assert_within(after[0], weights[0], equal[0], "weights of queries of zeros")
    assert_within(after[1:], before[1:], limit[1:], "weights of the other batches")


@given(case=cases)
def test_keys_may_come_in_any_order(kernel, case):
    """The keys backwards, with their columns of the mask, have the weights backwards."""
    inputs = kernel.inputs(case)
    _, limit = weights_of(inputs, case)
    forwards = out_of(kernel, inputs)
    inputs["k"].copy_(inputs["k"].flip(1))
    inputs["mask"].copy_(inputs["mask"].flip(1))
    backwards = out_of(kernel, inputs)
    assert_within(backwards.flip(-1), forwards, limit, "weights of the keys backwards")


@given(case=cases)
def test_queries_and_batches_may_come_in_any_order(kernel, case):
    """The queries and the batches backwards, with the rows of the mask, have rows backwards."""
    inputs = kernel.inputs(case)
    _, limit = weights_of(inputs, case)
    forwards = out_of(kernel, inputs)
    inputs["q"].copy_(inputs["q"].flip(0, 1))
    inputs["k"].copy_(inputs["k"].flip(0))
    inputs["mask"].copy_(inputs["mask"].flip(0))
    backwards = out_of(kernel, inputs)
    assert_within(backwards.flip(0, 1), forwards, limit, "weights of the queries backwards")
