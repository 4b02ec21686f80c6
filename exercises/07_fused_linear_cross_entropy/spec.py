"""Fused linear cross entropy: the logits of a few tokens at a time, their gradient in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader.spec import (
    ITEMSIZE,
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

IGNORED = -100  # the target of a token that does not count
PART = 16  # words at least that a library's product adds up before it rounds
AT_A_TIME = 2**24  # logits that the reference holds, so that the scored case fits the GPU

# Half the spacing of numbers near 1, and the smallest error of a number near 0.
ROUNDOFF = {"float16": (2.0**-11, 2.0**-25), "bfloat16": (2.0**-8, 0.0)}


def inputs(case: Case, draw: Draw) -> Inputs:
    """Logits of a few units, so that each word has a share, and rounding them changes it little.

    A row of x has a mean square below 1, and no logit exceeds `reach` by much. In the extremes
    exponentials overflow. Whole numbers stay as they are: their logits are exact.
    """
    tokens, hidden, vocabulary = case.shape
    target = draw.indices(tokens, below=vocabulary, ignored=IGNORED)
    # Of several tokens the last is ignored, and the first two others count: none by chance alone.
    few = max(1, min(2, tokens - 1))
    target[:few] = draw.indices(few, below=vocabulary)
    if tokens > 1:
        target[-1] = IGNORED
    x = draw.tensor((tokens, hidden), extreme=1e4)
    weight = draw.tensor((vocabulary, hidden), extreme=1e4)
    if case.draw == "extremes":
        # The last words are likeliest for these: one that is left out, or counted twice, then
        # changes their shares by more than errors of a long sum may.
        few = min(few, vocabulary)
        weight[-few:] = x[:few]
    reach = draw.number(200.0, 400.0) if case.draw == "extremes" else draw.number(2.0, 8.0)
    if case.draw != "integers":
        x.div_(1 + _root_mean_square(x))
        weight.mul_(reach / (hidden * (1 + _root_mean_square(weight))))
    return {"x": x, "weight": weight, "target": target}


def _root_mean_square(rows: Tensor) -> Tensor:
    return rows.float().square().mean(-1, keepdim=True).sqrt()


def _parts(inputs: Inputs) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """Yield some tokens, their log-probabilities, the one-hot rows, and which tokens count."""
    x, weight, target = inputs["x"], inputs["weight"], inputs["target"]
    step = max(1, AT_A_TIME // len(weight))
    for first in range(0, len(x), step):
        part = slice(first, first + step)
        log_share = (x[part] @ weight.T).log_softmax(-1)
        column = target[part].clamp(min=0).unsqueeze(-1)
        hot = log_share.new_zeros(log_share.shape).scatter_(-1, column, 1.0)
        yield part, log_share, hot, (target[part] != IGNORED).unsqueeze(-1)


def _scale(inputs: Inputs) -> Tensor:
    return 1 / (inputs["target"] != IGNORED).sum()


def _unchanged(values: Tensor) -> Tensor:
    return values


def _outputs(
    inputs: Inputs,
    gradient: Callable[[Tensor, Tensor, slice], Tensor],
    factor: Callable[[Tensor], Tensor] = _unchanged,
) -> dict[str, Tensor]:
    """Return the outputs for any gradient of the sum of losses.

    `gradient` gets the shares, the one-hot rows and which tokens they are. `factor` changes x and
    weight before the last two products.
    """
    x, weight, scale = factor(inputs["x"]), factor(inputs["weight"]), _scale(inputs)
    loss, dx, dweight = x.new_zeros(1), x.new_zeros(x.shape), weight.new_zeros(weight.shape)
    for part, log_share, hot, counts in _parts(inputs):
        loss -= (log_share * hot * counts).sum()
        rows = gradient(log_share.exp_(), hot, part) * counts
        dx[part] = rows @ weight
        dweight += rows.T @ x[part]
    return {"loss": loss * scale, "dx": dx * scale, "dweight": dweight * scale}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return _outputs(inputs, lambda share, hot, part: share - hot)


def _longest(inputs: Inputs) -> Tensor:
    """Return a bound of each token's logits, and of the sums of their absolute terms.

    That is |x| times the largest |weight|, by the inequality of Cauchy and Schwarz; (tokens, 1).
    """
    norms = inputs["weight"].square().sum(-1).amax().sqrt()
    return inputs["x"].square().sum(-1, keepdim=True).sqrt() * norms


def _spread(
    inputs: Inputs, of_share: Tensor, of_hot: float, of_each: float = 0.0
) -> dict[str, Tensor]:
    """Return by how much dx and dweight are off for errors of the gradient's elements.

    These are of_share * share + of_hot * one-hot + of_each; `of_share` is (tokens, 1).
    """

    def errors(share: Tensor, hot: Tensor, part: slice) -> Tensor:
        return share * of_share[part] + of_hot * hot + of_each

    outputs = _outputs(inputs, errors, factor=lambda values: values.abs())
    return {name: outputs[name] for name in ("dx", "dweight")}


def _mean(inputs: Inputs, of_tokens: Tensor) -> Tensor:
    counts = (inputs["target"] != IGNORED).unsqueeze(-1)
    return ((of_tokens * counts).sum() * _scale(inputs)).reshape(1)


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Errors of float32, with N = |x| times the largest |weight|, which bounds each logit.

    A logit is a sum of absolute terms up to N, and logsumexp is at most N + log(vocabulary). So
    the loss is off by parts of 1 + log(vocabulary) + 4 N. A share p changes by p times the errors
    of its logit, of logsumexp and of the argument of exp: p * (1 + 4 N). At the target, p - 1 is a
    difference from 1. The products pass these errors on with |weight| and |x|, and add up terms of
    the same size.
    """
    longest = _longest(inputs)
    words = inputs["weight"].new_full((1, 1), len(inputs["weight"]))
    loss = _mean(inputs, 1 + words.log() + 4 * longest)
    return {"loss": loss, **_spread(inputs, 1 + 4 * longest, 1.0)}


def intermediate(
    case: Case, inputs: Inputs, expected: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """Errors of logits and gradients in the dtype of x, where that has 16 bits; u is its roundoff.

    A logit is off by u * N. The loss is a difference of two such numbers, and a share changes by a
    factor of exp(2 * u * N) at most. The gradient is rounded by u of its size, and a library may
    round parts of a product once more. Of float16 a gradient that is divided by the number of
    counting tokens before it is stored may lose 2**-25, and so may the product for dweight of each
    part of the tokens, of which there are at most as many as tokens. A library adds dx up in parts
    of 16 words or more on a GPU, and each part may lose 2**-25, too.
    """
    if case.dtype not in ROUNDOFF:
        return {}
    unit, least = ROUNDOFF[case.dtype]
    of_logits = 2 * unit * _longest(inputs)
    of_each = least * int((inputs["target"] != IGNORED).sum())
    gradients = _spread(inputs, of_logits.expm1() + 2 * unit, 2 * unit, of_each)
    gradients["dx"] += least * math.ceil(len(inputs["weight"]) / PART) * _scale(inputs)
    gradients["dweight"] += least * len(inputs["target"]) * _scale(inputs)
    return {"loss": _mean(inputs, of_logits), **gradients}


def memory_budget(case: Case) -> int:
    """Return 5 % of the bytes of all logits and 16 bytes a token, and at least 4 MiB."""
    tokens, _, vocabulary = case.shape
    return max(4 << 20, tokens * vocabulary * ITEMSIZE[case.dtype] // 20 + 16 * tokens)


def _sum_of_losses(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"loss": reference(inputs)["loss"] / _scale(inputs)}


def _gradients_of_the_sum(inputs: Inputs) -> Mapping[str, Tensor]:
    outputs = reference(inputs)
    return {name: outputs[name] / _scale(inputs) for name in ("dx", "dweight")}


def _mean_over_all_tokens(inputs: Inputs) -> Mapping[str, Tensor]:
    part = 1 / (_scale(inputs) * len(inputs["target"]))
    return {name: value * part for name, value in reference(inputs).items()}


def _gradients(
    inputs: Inputs, gradient: Callable[[Tensor, Tensor, slice], Tensor]
) -> Mapping[str, Tensor]:
    """Return dx and dweight of another gradient of the logits."""
    outputs = _outputs(inputs, gradient)
    return {"dx": outputs["dx"], "dweight": outputs["dweight"]}


def _ignored_as(word: int, inputs: Inputs, *, in_the_mean: bool) -> Mapping[str, Tensor]:
    """Take a word for the target of ignored tokens, which count in the sums, or in all."""
    target = inputs["target"]
    outputs = reference({**inputs, "target": target.where(target != IGNORED, word)})
    part = 1.0 if in_the_mean else len(target) * _scale(inputs)
    return {name: value * part for name, value in outputs.items()}


def _everything(name: str, inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark all of one output: the others are right."""
    return {name: (reference(inputs)[name] == 0).fill_(True)}


MISTAKES = (
    Mistake(
        cause="factor",
        hint="This is the sum of the losses: divide it by the number of tokens that count.",
        reference=_sum_of_losses,
        near=(r"\bloss\b.*sum|sum\(.*out=loss", r"copy_\(|store\(loss"),
    ),
    Mistake(
        cause="factor",
        hint="The loss is the mean, and dx and dweight are the gradients of the sum: divide them "
        "by the number of tokens that count, too.",
        reference=_gradients_of_the_sum,
        near=(r"share - 1|- 1\.0|where\(", r"store\("),
    ),
    Mistake(
        cause="factor",
        hint="The mean is over all tokens. Ignored ones do not count: divide by the number of "
        "targets that are not -100.",
        reference=_mean_over_all_tokens,
        near=(r"1(\.0)? / ", r"/ *(tokens|len)"),
    ),
    Mistake(
        cause="formula",
        hint="The gradient is the softmax alone: subtract 1 at the target.",
        reference=lambda inputs: _gradients(inputs, lambda share, hot, part: share),
        near=(r"\b(gradient|grad|g)\b *=", r"store\(logits", r"store\("),
    ),
    Mistake(
        cause="sign",
        hint="The gradient is the one-hot vector minus the softmax: its sign is wrong.",
        reference=lambda inputs: _gradients(inputs, lambda share, hot, part: hot - share),
        near=(r"1\.0 - |where\(", r"store\(logits", r"store\("),
    ),
    *(
        Mistake(
            cause="ignore_index",
            hint=f"Tokens whose target is {IGNORED} count here as if their target were word 0. "
            "Their loss is 0, and their row of the gradient is all zeros.",
            reference=partial(_ignored_as, 0, in_the_mean=in_the_mean),
            near=(r"maximum\(|clamp", r"if .*(IGNORED|-100)", r"load\(target"),
        )
        for in_the_mean in (False, True)
    ),
    Mistake(
        cause="overwritten_read",
        hint="Both gradients are right, and the loss is not. The gradient takes the place of the "
        "logits: read the target's logit before that, and add up the losses of all tokens.",
        only=partial(_everything, "loss"),
        near=(r"load\(.*\btarget\)", r"log\("),
    ),
    Mistake(
        cause="accumulates_previous",
        hint="Loss and dx are right, and dweight is not. Each part of the tokens must add its "
        "product to what the parts before it left, and before the first part that is 0.",
        only=partial(_everything, "dweight"),
        near=(r"store\(.*mask=inside", r"store\(.*(dweight|places)", r"dot\("),
    ),
)


SPEC = Spec(
    title="Fused linear cross entropy",
    summary="Loss and gradients of a language model's last layer, without all logits in memory.",
    needs=("06_cross_entropy", "t03_tile"),
    backend="triton",
    entry="fused_linear_cross_entropy",
    arguments=(
        reads("x", at_most=None),
        reads("weight", at_most=None),
        reads("target", at_most=None),
        writes("loss", shape=(1,), dtype="float32", at_most=None),
        writes("dx", like="x", at_most=3),
        writes("dweight", like="weight", dtype="float32", at_most=None),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    strided=True,
    edges=(
        Case((1, 1, 2), "float32"),
        Case((2, 1, 1), "float16"),
        Case((3, 2, 3), "bfloat16", pad=3),
        Case((5, 7, 4), "float32", draw="integers", pad=1),
        Case((7, 16, 31), "float16", draw="ties"),
        Case((17, 13, 128), "float32", draw="extremes"),
        Case((16, 64, 127), "bfloat16", draw="constant", offset=1),
        Case((33, 31, 129), "float32", draw="denormals", pad=3),
        Case((64, 63, 255), "bfloat16"),
        Case((45, 65, 257), "float16", draw="extremes", pad=7),
        Case((70, 13, 1_024), "bfloat16", draw="integers"),
        Case((3, 300, 1_023), "float32", pad=5, offset=1),
        Case((129, 7, 1_025), "float16", draw="denormals"),
        Case((4, 127, 2_049), "bfloat16", draw="ties", pad=1),
        Case((50, 5, 4_097), "float32", draw="constant"),
        Case((18, 5, 10_007), "float16", pad=3),
        Case((5, 4, 50_257), "bfloat16", draw="extremes"),
        Case((331, 20, 130), "float32", pad=1),
        Case((4_099, 3, 67), "bfloat16"),
    ),
    # More tokens than a grid has programs along y.
    launched=Case((65_537, 3, 5), "float32"),
    largest=(300, 300, 5_000),
    most_elements=2**18,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: max(case.shape), magnitude=magnitude, intermediate=intermediate
    ),
    pictured=Case((2, 2, 5), "float32"),
    counted=Case((16, 5, 4_999), "bfloat16", pad=3),
    # More tokens than an honest buffer of one size holds, so that it does not grow with them.
    memory_counted=Case((1_280, 8, 1_000), "bfloat16", pad=3),
    memory_budget=memory_budget,
    independent_rows=False,
    scored=Scored(
        dtype="bfloat16",
        rows=40_960,
        columns=(1_024, 16_384),
        bound="reference",
        against=Path(__file__).with_name("eager.py"),
        compiled=True,
    ),
    # Three products: a multiplication and an addition for each token, word and hidden column.
    flops=lambda case: 6 * case.elements,
    gates=Gates(passing=0.75, great=0.87),
    hints=(
        "Logits of one token depend on no other token. So take some tokens at a time: a loop on "
        "the host, and one buffer of (some tokens, vocabulary) that each turn of it overwrites. "
        "Slices such as `x[first:last]` are views, and copy nothing.",
        "A turn has four steps. `torch.mm(..., out=buffer)` writes the logits. The kernel of "
        "exercise 06, one program for each token, stores the token's loss and overwrites its row "
        "with softmax minus one-hot. `torch.mm(..., out=...)` of that and weight is this part of "
        "dx. A second kernel adds the last product to dweight.",
        "Divide by the number of tokens that count, which `(target != IGNORED).sum()` finds for "
        "all parts at once. In float16 divide after the products: a share of a large vocabulary, "
        "divided by thousands of tokens, is 0 there.",
        "In the second kernel a program has a tile of dweight. It loads tiles of the gradient and "
        "of x with the tokens along the first axis, turns the first one by `tl.trans`, and adds "
        "up `tl.dot(left, right, total)` in float32. At the end it scales total, and adds it to "
        "what dweight holds. Fill dweight with zeros before the loop.",
    ),
    # For sm_75 the compiler writes each product out in single multiplications, which takes 10 s.
    targets=(90, 100),
    mistakes=MISTAKES,
)
