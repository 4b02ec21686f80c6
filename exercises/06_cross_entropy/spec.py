"""Cross entropy: loss and gradient in one launch, the gradient in place of the logits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Spec,
    Tolerance,
    reads,
    scalar,
    updates,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

IGNORED = -100  # the target of a token that does not count


def inputs(case: Case, draw: Draw) -> Inputs:
    tokens, vocabulary = case.shape
    target = draw.indices(tokens, below=vocabulary, ignored=IGNORED)
    # The first token counts and the last of several is ignored: neither is left to chance.
    target[0] = draw.indices(1, below=vocabulary)[0]
    if tokens > 1:
        target[-1] = IGNORED
    return {
        # A quarter of the largest, so that the loss, a difference of two, is a float32.
        "logits": draw.tensor(case.shape, extreme=LARGEST[case.dtype] / 4),
        "target": target,
        # An eighth of the largest, so that a gradient, and twice one, fits the logits' dtype.
        "grad_scale": draw.factor(LARGEST[case.dtype] / 8),
    }


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    logits, target = inputs["logits"], inputs["target"]
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    log_probability = logits.log_softmax(-1)
    loss = -log_probability.gather(-1, column).squeeze(-1)
    minus_one_hot = -_one_hot(logits, column)
    gradient = inputs["grad_scale"] * (log_probability.exp() + minus_one_hot)
    return {
        "logits": gradient.masked_fill(~counts.unsqueeze(-1), 0.0),
        "loss": loss.masked_fill(~counts, 0.0),
    }


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Loss: |logsumexp| + |target's logit| + 1, the two numbers whose difference it is.

    Gradient: grad_scale * (p * (1 + max - x) + one-hot). Rounding x - max by one part in 2**24
    changes p by (max - x) parts in 2**24; at the target, p - 1 is a difference from 1. A GPU may
    flush p below 2**-126 to 0, before grad_scale enlarges the loss: 2**-102 permits that.
    """
    logits, target = inputs["logits"].double(), inputs["target"]
    column = target.clamp(min=0).unsqueeze(-1)
    depth = 1 + (logits.amax(-1, keepdim=True) - logits)
    terms = logits.softmax(-1) * depth + _one_hot(logits, column) + 2.0**-102
    gradient = abs(inputs["grad_scale"]) * terms
    loss = logits.logsumexp(-1).abs() + logits.gather(-1, column).squeeze(-1).abs() + 1
    return {"logits": gradient, "loss": loss}


def _one_hot(logits: Tensor, column: Tensor) -> Tensor:
    """Shape of `logits`: 1 in each row's `column`, of shape (tokens, 1), and 0 elsewhere."""
    return logits.new_zeros(logits.shape).scatter_(-1, column, 1.0)


def _running(
    x: Tensor, lanes: int, rescaled: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Return a row's maximum and its running sum, which another formula rescales.

    `rescaled` gets the sum so far, the block's own, the maximum so far and the new one. A GPU
    computes in float32, where a wrong formula may overflow.
    """
    x = x.float()
    highest = x.new_full((*x.shape[:-1], 1), float("-inf"))
    total = x.new_zeros(highest.shape)
    for block in x.split(lanes, -1):
        new = highest.maximum(block.amax(-1, keepdim=True))
        total = rescaled(total, (block - new).exp().sum(-1, keepdim=True), highest, new)
        highest = new
    return highest, total


# Wrong ways to bring a running sum to a new maximum, each with what the hint says of it.
RESCALED: Mapping[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "the sum so far stays as it was": lambda total, own, old, new: total + own,
    "the sum so far is multiplied by exp(new - old), its inverse": lambda total, own, old, new: (
        total * (new - old).exp() + own
    ),
    "the block's own terms shrink as well, though they are right already": (
        lambda total, own, old, new: (total + own) * (old - new).exp()
    ),
}


def _counting(inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Return which tokens count, and the columns of their targets, of shape (tokens, 1)."""
    target = inputs["target"]
    return target != IGNORED, target.clamp(min=0).unsqueeze(-1)


def _rescaled(how: str, inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    counts, column = _counting(inputs)
    logits = inputs["logits"].float()
    highest, total = _running(logits, lanes, RESCALED[how])
    loss = (highest - logits.gather(-1, column) + total.log()).squeeze(-1)
    share = (logits - highest).exp() / total
    gradient = inputs["grad_scale"] * (share - _one_hot(logits, column))
    return {
        "logits": gradient.masked_fill(~counts.unsqueeze(-1), 0.0),
        "loss": loss.masked_fill(~counts, 0.0),
    }


def _loss_last(inputs: Inputs) -> Mapping[str, Tensor]:
    """Take the gradient that lies at the target for the target's logit."""
    counts, column = _counting(inputs)
    gradient = reference(inputs)["logits"].to(inputs["logits"].dtype)
    loss = inputs["logits"].logsumexp(-1) - gradient.gather(-1, column).squeeze(-1)
    return {"loss": loss.masked_fill(~counts, 0.0)}


def _loss_of_share(inputs: Inputs) -> Mapping[str, Tensor]:
    """Compute -log of the target's share, which float32 rounds to 0 for a small logit."""
    counts, column = _counting(inputs)
    share = inputs["logits"].float().softmax(-1).gather(-1, column).squeeze(-1)
    return {"loss": (-share.log()).masked_fill(~counts, 0.0)}


def _shifted(by: int, inputs: Inputs, *, loss: bool) -> Mapping[str, Tensor]:
    """Take the column that is `by` places after the target, in the loss or in the gradient."""
    counts, column = _counting(inputs)
    logits = inputs["logits"]
    place = (column + by).clamp(0, logits.shape[-1] - 1)
    inside = (column + by) == place
    if loss:
        taken = logits.logsumexp(-1) - logits.gather(-1, place).squeeze(-1)
        return {"loss": taken.masked_fill(~counts, 0.0)}
    hot = _one_hot(logits, place) * inside
    gradient = inputs["grad_scale"] * (logits.softmax(-1) - hot)
    return {"logits": gradient.masked_fill(~counts.unsqueeze(-1), 0.0)}


def _gradient(hot: float, inputs: Inputs) -> Mapping[str, Tensor]:
    """Subtract `hot` at the target, in place of grad_scale."""
    counts, column = _counting(inputs)
    logits = inputs["logits"]
    gradient = inputs["grad_scale"] * logits.softmax(-1) - hot * _one_hot(logits, column)
    return {"logits": gradient.masked_fill(~counts.unsqueeze(-1), 0.0)}


def _unscaled(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"logits": reference({**inputs, "grad_scale": 1.0})["logits"]}


def _mean(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"logits": reference(inputs)["logits"] / len(inputs["target"])}


def _ignored(inputs: Inputs) -> Mapping[str, Tensor]:
    rows = inputs["target"] == IGNORED
    return {"logits": rows.unsqueeze(-1).expand(inputs["logits"].shape), "loss": rows}


MISTAKES = (
    Mistake(
        cause="ignore_index",
        hint=f"Only tokens whose target is {IGNORED} are wrong: they do not count, so that their "
        "loss is 0 and their whole row of logits becomes 0.",
        only=_ignored,
        near=(r"if .*(IGNORED|-100|== -1)", r"load\(target|load\(T"),
    ),
    *(
        Mistake(
            cause="rescale",
            hint=f"The running sum is not brought to a new maximum: {how}. When the maximum grows "
            "from old to new, multiply the sum so far by exp(old - new), and then add the block's "
            "exp(x - new).",
            blocked=partial(_rescaled, how),
            near=(r"\+=.*exp\(|= .*\w+ *[*+].*exp\(",),
        )
        for how in RESCALED
    ),
    Mistake(
        cause="overwritten_read",
        hint="The loss is computed with the gradient in place of the target's logit: read the "
        "logit before the gradient overwrites it.",
        reference=_loss_last,
        near=(r"load\(.*\b(target|t|tgt|y)\)",),
    ),
    Mistake(
        cause="overflow",
        hint="The loss is -log of a share. Where the logit is far below the maximum, that share is "
        "0 in float32. Compute (row_max - x[target]) + log(total), which needs no share.",
        reference=_loss_of_share,
        near=(r"log\(",),
    ),
    *(
        Mistake(
            cause="off_by_one",
            hint=f"The {what} uses the column {where} the target: columns count from 0, as "
            "targets do.",
            reference=partial(_shifted, by, loss=loss),
            near=(r"(target|\bt|\btgt) *[+-] *1",),
        )
        for what, loss in (("loss", True), ("gradient", False))
        for where, by in (("after", 1), ("before", -1))
    ),
    Mistake(
        cause="formula",
        hint="The gradient is the softmax alone: grad_scale is missing at the target, where the "
        "one-hot vector is 1.",
        reference=partial(_gradient, 0.0),
        near=(r"\b(grad_scale|scale|g) ?\*", r"store\(logits", r"store\("),
    ),
    Mistake(
        cause="formula",
        hint="The gradient loses 1 at the target, and not grad_scale: the factor belongs to both.",
        reference=partial(_gradient, 1.0),
        near=(r"where\(.*- 1", r"where\("),
    ),
    Mistake(
        cause="factor",
        hint="The gradient lacks the factor grad_scale.",
        reference=_unscaled,
        near=(r"1(\.0)? / ", r"where\("),
    ),
    Mistake(
        cause="factor",
        hint="The gradient is divided by the number of tokens: the task asks for that of the sum "
        "of all losses.",
        reference=_mean,
    ),
)


SPEC = Spec(
    title="Cross entropy",
    summary="Loss and gradient in one launch, with the gradient in place of the logits.",
    needs=("04_online_softmax",),
    backend="triton",
    also_in=("cuda",),
    entry="cross_entropy",
    arguments=(
        updates("logits", reads_at_most=2),
        reads("target", at_most=None),
        writes("loss", like="target", dtype="float32"),
        scalar("grad_scale"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers", "sunken"),
    strided=True,
    edges=(
        Case((2, 1), "float32"),
        Case((2, 2), "float16"),
        Case((3, 3), "bfloat16", pad=3),
        Case((7, 5), "float32", pad=3),
        # Rows whose largest logit is far below 0: a maximum that starts at 0 leaves no sum.
        Case((64, 1), "float32", draw="extremes"),
        Case((4, 127), "float16", draw="ties"),
        Case((3, 128), "float32", draw="constant"),
        Case((5, 129), "bfloat16", draw="extremes", offset=1),
        Case((5, 1023), "float32", draw="extremes"),
        Case((3, 1024), "float16", draw="denormals"),
        Case((6, 1025), "float32", pad=3, offset=1),
        Case((3, 4097), "bfloat16", draw="integers", pad=1),
        Case((8, 10_007), "float32"),
        Case((5, 12_289), "float16", draw="extremes"),
        Case((3, 50_257), "float16", pad=5),
        Case((131, 255), "bfloat16", draw="sunken"),
        Case((17, 16_385), "float16", draw="sunken", offset=1),
        Case((300, 257), "float32", draw="constant", pad=1),
        Case((5, 32_771), "bfloat16", draw="denormals"),
        Case((65, 1_029), "float16", draw="integers", pad=3),
        Case((3, 100_003), "float32", draw="ties"),
        Case((4_097, 67), "float32", pad=5),
        Case((4, 131_072), "bfloat16"),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, 131_072),
    most_elements=2**19,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1], magnitude=magnitude),
    pictured=Case((2, 6), "float32"),
    counted=Case((1, 32_771), "bfloat16"),
    scored=Scored(dtype="bfloat16", columns=128_256),
    # Per logit: maximum, subtraction, exp, addition to the sum, product with scale / sum. What
    # a row needs once is lost among 128,256 logits.
    flops=lambda case: 5 * case.elements,
    gates=Gates(passing=0.40, great=0.66),
    hints=(
        "Give each token its own program. First load its target. If that is -100, write zeros to "
        "its loss and to its whole row of logits, and `return`.",
        "The loss is log(sum of exp(x)) - x[target]. Compute it as "
        "`(row_max - x[target]) + tl.log(total)` from the running maximum and the rescaled sum of "
        "exercise 04: no exponential can overflow then.",
        "Load the target's logit before you store anything to the row: the second pass puts the "
        "gradient in its place, and what you read there after that is the gradient.",
        "The second pass loads each block again, computes "
        "`grad_scale * (tl.exp(x - row_max) / total)`, takes grad_scale off where the column is "
        "the target (`tl.where(offsets == target, ...)`), and stores the block where it was "
        "loaded from. Every logit is read before its own place is overwritten, so no second "
        "copy is needed.",
    ),
    mistakes=MISTAKES,
)
