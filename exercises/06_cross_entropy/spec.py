"""Cross entropy: loss and gradient in one launch, the gradient in place of the logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
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


SPEC = Spec(
    title="Cross entropy",
    summary="loss and gradient in one launch, the gradient in place of the logits",
    backend="triton",
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
)
