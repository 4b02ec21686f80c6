"""Laws that hold for every cross entropy and its gradient, whatever the numbers are."""

import math

from hypothesis import given

from grader.testing import assert_within, cases_of, eps

cases = cases_of(__file__)

IGNORED = -100

# Below its smallest normal number a format loses digits, and a GPU may take a float32 (which a
# bfloat16 is computed in) for 0 there. Two results of that size differ by at most this much.
UNDERFLOW = {"float32": 2.0**-125, "bfloat16": 2.0**-125, "float16": 2.0**-24}


def accumulation(case):
    """Return what float32 arithmetic may lose over a row, relative to the size of its terms."""
    return 8 * math.sqrt(case.shape[-1]) * 2.0**-24


def loss_rounding(inputs, case):
    """Return how much each loss may miss the truth, when it is computed in float32; float64.

    A loss is the difference of the logarithm of a sum and of a logit, and as exact as they are.
    """
    logits, target = inputs["logits"].double(), inputs["target"]
    chosen = logits.gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return accumulation(case) * (1 + logits.logsumexp(-1).abs() + chosen.abs())


def gradient_rounding(inputs, case):
    """Return how much each element of the gradient may miss the truth; float64.

    One rounding to the output's type, and what float32 loses: for a probability, times
    1 + max - x because exp passes the rounding of its argument on; at the target, relative to the
    1 that is subtracted.
    """
    logits = inputs["logits"].double()
    depth = 1 + (logits.amax(-1, keepdim=True) - logits)
    parts = (eps(case.dtype) + accumulation(case) * depth) * logits.softmax(-1)
    parts += (eps(case.dtype) + accumulation(case)) * one_hot(inputs)
    return abs(inputs["grad_scale"]) * parts + UNDERFLOW[case.dtype]


def one_hot(inputs):
    """1 at each token's target (at column 0 where it is ignored), 0 elsewhere; float64."""
    column = inputs["target"].clamp(min=0).unsqueeze(-1)
    return inputs["logits"].double().zero_().scatter_(-1, column, 1.0)


@given(case=cases)
def test_no_loss_is_negative(kernel, case):
    """A loss is the logarithm of 1 / probability, which is at least 0."""
    inputs = kernel.inputs(case)
    loss = kernel.run(inputs)["loss"].double()
    assert_within(loss.clamp(max=0.0), 0.0, loss_rounding(inputs, case), "losses below 0")


@given(case=cases)
def test_ignored_tokens_are_zero(kernel, case):
    """The loss and the gradient row of an ignored token are 0."""
    inputs = kernel.inputs(case)
    inputs["target"][::2] = IGNORED
    result = kernel.run(inputs)
    assert_within(result["loss"][::2], 0.0, 0.0, "loss of ignored tokens")
    assert_within(result["logits"][::2], 0.0, 0.0, "gradient of ignored tokens")


@given(case=cases)
def test_gradient_rows_sum_to_zero(kernel, case):
    """The gradient of a token sums to 0: probabilities sum to 1, and 1 is subtracted."""
    inputs = kernel.inputs(case)
    gradient = kernel.run(inputs)["logits"].double()
    limit = gradient_rounding(inputs, case).sum(-1)
    assert_within(gradient.sum(-1), 0.0, limit, "row sums of the gradient")


@given(case=cases)
def test_grad_scale_scales_the_gradient_alone(kernel, case):
    """Twice the grad_scale gives twice the gradient and the same loss."""
    inputs = kernel.inputs(case)
    once = kernel.run(inputs)
    # A product with 2 is exact, so that an honest kernel differs by underflow alone; the limits
    # leave room for one that orders its arithmetic by the value of grad_scale.
    loss_limit, gradient_limit = loss_rounding(inputs, case), gradient_rounding(inputs, case)
    inputs["grad_scale"] *= 2
    twice = kernel.run(inputs)
    doubled = 2 * once["logits"].double()
    assert_within(twice["logits"].double(), doubled, 4 * gradient_limit, "gradient, scale doubled")
    assert_within(twice["loss"].double(), once["loss"].double(), 2 * loss_limit, "loss")


@given(case=cases)
def test_losses_differ_as_their_logits(kernel, case):
    """loss(target i) - loss(target j) is x[j] - x[i]."""
    inputs = kernel.inputs(case)
    logits, target = inputs["logits"].double(), inputs["target"]
    target.clamp_(min=0)
    here, limit = logits.gather(-1, target.unsqueeze(-1)), loss_rounding(inputs, case)
    loss_here = kernel.run(inputs)["loss"].double()
    target.add_(1).remainder_(case.shape[-1])
    there, limit = logits.gather(-1, target.unsqueeze(-1)), limit + loss_rounding(inputs, case)
    loss_there = kernel.run(inputs)["loss"].double()
    expected = (there - here).squeeze(-1)
    assert_within(loss_here - loss_there, expected, limit, "loss(i) - loss(j) and x[j] - x[i]")


@given(case=cases)
def test_each_target_lowers_its_own_gradient(kernel, case):
    """Moving the target moves -grad_scale from one element of the gradient to another."""
    inputs = kernel.inputs(case)
    target, grad_scale = inputs["target"], inputs["grad_scale"]
    target.clamp_(min=0)
    here, limit = one_hot(inputs), gradient_rounding(inputs, case)
    gradient_here = kernel.run(inputs)["logits"].double()
    target.add_(1).remainder_(case.shape[-1])
    there, limit = one_hot(inputs), limit + gradient_rounding(inputs, case)
    gradient_there = kernel.run(inputs)["logits"].double()
    moved = grad_scale * (there - here)
    assert_within(gradient_here - gradient_there, moved, limit, "gradient(i) - gradient(j)")
