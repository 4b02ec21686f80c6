"""Flash attention: no matrix of scores, an output that is rescaled as the maximum grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader.spec import (
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

AT_A_TIME = 2**24  # scores that the reference holds, so that the scored case fits the GPU

# Half the spacing of numbers near 1, and the smallest error of a number near 0.
ROUNDOFF = {"float16": (2.0**-11, 2.0**-25), "bfloat16": (2.0**-8, 0.0)}


def inputs(case: Case, draw: Draw) -> Inputs:
    """Scores of a few units, so that many keys have a share and some have most of it.

    A row of q has a mean square below 1, and no score exceeds `reach` in size by much. In the
    extremes exponentials overflow, or all of a row's are 0. Whole numbers stay as they are.
    """
    heads, dimension, tokens = case.shape
    q, k, v = (draw.tensor((heads, tokens, dimension), extreme=1e4) for _ in range(3))
    reach = draw.number(200.0, 400.0) if case.draw == "extremes" else draw.number(4.0, 16.0)
    if case.draw != "integers":
        q.div_(1 + _root_mean_square(q))
        k.mul_(reach / (math.sqrt(dimension) * (1 + _root_mean_square(k))))
    return {"q": q, "k": k, "v": v}


def _root_mean_square(rows: Tensor) -> Tensor:
    return rows.float().square().mean(-1, keepdim=True).sqrt()


def _parts(inputs: Inputs) -> Iterator[tuple[slice, Tensor]]:
    """Yield some heads, and their scores, (heads, tokens, tokens)."""
    q, k = inputs["q"], inputs["k"]
    heads, tokens, dimension = q.shape
    step = max(1, AT_A_TIME // tokens**2)
    for first in range(0, heads, step):
        part = slice(first, first + step)
        yield part, q[part] @ k[part].mT / math.sqrt(dimension)


def _later(scores: Tensor, ahead: int = 1) -> Tensor:
    """Mark the keys that lie `ahead` tokens or more behind the query, (queries, keys)."""
    query, key = (scores.new_ones(extent).cumsum(0) for extent in scores.shape[-2:])
    return key >= query.unsqueeze(-1) + ahead


def _causal(scores: Tensor) -> Tensor:
    return scores.masked_fill(_later(scores), float("-inf")).softmax(-1)


def _mixed(inputs: Inputs, values: Tensor, shares: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the sums of `values`, weighted by `shares` of the scores."""
    out = values.new_zeros(values.shape)
    for part, scores in _parts(inputs):
        out[part] = shares(scores) @ values[part]
    return out


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": _mixed(inputs, inputs["v"], _causal)}


def _longest(inputs: Inputs) -> Tensor:
    """Return a bound of each query's scores, and of the sums of their absolute terms.

    That is |q| times the largest |k| of the head, by the inequality of Cauchy and Schwarz, over
    √dimension; (heads, tokens, 1).
    """
    q, k = (inputs[name].square().sum(-1, keepdim=True).sqrt() for name in ("q", "k"))
    return q * k.amax(1, keepdim=True) / math.sqrt(inputs["q"].shape[-1])


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Errors of float32, with N = |q| times the largest |k| of the head, over √dimension.

    A score is a sum of absolute terms up to N. A share p changes by p times the errors of its
    score, of the sum of exponentials and of the argument of exp: p * (1 + 4 N). The product passes
    these errors on with |v|, and adds up terms of the same size.
    """
    sizes = _mixed(inputs, inputs["v"].abs(), _causal)
    # A right output is never larger. That of a mistake may be, and rounds likewise.
    sizes = sizes.maximum(expected["out"].abs())
    return {"out": (1 + 4 * _longest(inputs)) * sizes}


def intermediate(
    case: Case, inputs: Inputs, expected: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """Errors of exponentials that are rounded to the dtype of v, where that has 16 bits.

    tl.dot takes both factors in one dtype. Let u be its roundoff, and p' = p * (1 + e) the rounded
    share, |e| <= u. If the sum of exponentials is that of the rounded ones, out is off by
    sum p e (v - out), and else by sum p e v: at most u * (sum p |v| + |out|) in either case.
    In float16 an exponential near 0 may lose 2**-25 besides. Their sum is 1 or more, so out loses
    at most 2**-25 times the sum of |v| so far.
    """
    if case.dtype not in ROUNDOFF:
        return {}
    unit, least = ROUNDOFF[case.dtype]
    v = inputs["v"].abs()
    sizes = _mixed(inputs, v, _causal) + expected["out"].abs()
    return {"out": unit * sizes + least * v.cumsum(1)}


def _attention(shares: Callable[[Tensor], Tensor], inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": _mixed(inputs, inputs["v"], shares)}


def _scaled_by(factor: Callable[[int], float], inputs: Inputs) -> Mapping[str, Tensor]:
    """Compute attention with scores that have another factor than 1 / √dimension."""
    dimension = inputs["q"].shape[-1]
    return reference({**inputs, "q": inputs["q"] * (factor(dimension) * math.sqrt(dimension))})


def _powers(scores: Tensor) -> Tensor:
    """Return exponentials that nobody divides by their sum."""
    masked = scores.masked_fill(_later(scores), float("-inf"))
    return (masked - masked.amax(-1, keepdim=True)).exp()


def _earlier_hidden(scores: Tensor) -> Tensor:
    """Return shares of the keys from the query's own on."""
    return scores.masked_fill(~_later(scores, 0), float("-inf")).softmax(-1)


# Wrong masks: the cause, the hint, and the shares of the scores.
MASKS: tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...] = (
    (
        "formula",
        "The mask is missing: a query also sees the keys of later tokens.",
        lambda scores: scores.softmax(-1),
    ),
    (
        "off_by_one",
        "A query sees one key too many, that of the next token: it sees keys up to its own.",
        lambda scores: scores.masked_fill(_later(scores, 2), float("-inf")).softmax(-1),
    ),
    (
        "off_by_one",
        "A query does not see the key of its own token. The first query then sees none.",
        lambda scores: scores.masked_fill(_later(scores, 0), float("-inf")).softmax(-1),
    ),
    (
        "formula",
        "The mask is turned round: a query sees the keys from its own on, and none before.",
        _earlier_hidden,
    ),
    (
        "formula",
        "Keys of later tokens have the score 0, whose exponential counts in the sum. Their score "
        "is -infinity.",
        lambda scores: scores.masked_fill(_later(scores), 0.0).softmax(-1),
    ),
)
BLOCKS = (16, 32, 64, 128)  # keys that a program may take at a time


def _masked(shares: Callable[[Tensor], Tensor], keys: int, inputs: Inputs) -> Mapping[str, Tensor]:
    """Compute attention with keys and values of 0 behind the last token, up to whole blocks."""
    v, tokens = inputs["v"], inputs["v"].shape[1]
    out = v.new_zeros(v.shape)
    for part, scores in _parts(inputs):
        wide = scores.new_zeros((*scores.shape[:-1], tokens + -tokens % keys))
        wide[..., :tokens] = scores
        out[part] = shares(wide)[..., :tokens] @ v[part]
    return {"out": out}


def _earlier(scores: Tensor) -> Tensor:
    return _causal(scores.mT).mT


def _one_head_for_all(name: str, inputs: Inputs) -> Mapping[str, Tensor]:
    return reference({**inputs, name: inputs[name][:1].expand(inputs[name].shape)})


Shrunk = Callable[["Tensor", "Tensor"], tuple["Tensor | float", "Tensor | float"]]


def _running(inputs: Inputs, lanes: int, shrunk: Shrunk) -> Mapping[str, Tensor]:
    """Return the outputs of a loop over blocks of keys that rescales in another way.

    `shrunk` gets exp(old maximum - new maximum) and its inverse, and returns the factors of the
    running sum and of the running output.
    """
    v = inputs["v"].float()
    out = v.new_zeros(v.shape)
    for part, scores in _parts(inputs):
        masked = scores.float().masked_fill(_later(scores), float("-inf"))
        highest = masked.new_full((*masked.shape[:-1], 1), float("-inf"))
        total, mixed = highest.new_zeros(highest.shape), v.new_zeros(v[part].shape)
        for first in range(0, masked.shape[-1], lanes):
            block = masked[..., first : first + lanes]
            new = highest.maximum(block.amax(-1, keepdim=True))
            of_total, of_mixed = shrunk((highest - new).exp(), (new - highest).exp())
            powers = (block - new).exp()
            total = total * of_total + powers.sum(-1, keepdim=True)
            mixed = mixed * of_mixed + powers @ v[part, first : first + lanes]
            highest = new
        out[part] = mixed / total
    return {"out": out}


NEAR_SCALE = (r"scale", r"sqrt\(")
NEAR_MASK = (r"where\(", r"<=|>=")
NEAR_RESCALE = (r"exp2?\(\w+ - \w+\)", r"mixed|acc", r"dot\(")
# Wrong ways to rescale, each with what shrinks sum and output.
RESCALED: Mapping[str, Shrunk] = {
    "The running output is not brought to a new maximum: multiply it by exp(old - new), as the "
    "running sum, before you add the next block.": lambda factor, inverse: (factor, 1.0),
    "The running sum is not brought to a new maximum: multiply it by exp(old - new), as the "
    "running output, before you add the next block.": lambda factor, inverse: (1.0, factor),
    "Sum and output are not brought to a new maximum: multiply both by exp(old - new) before you "
    "add the next block.": lambda factor, inverse: (1.0, 1.0),
    "Sum and output are multiplied by exp(new - old), the inverse of what they need.": (
        lambda factor, inverse: (inverse, inverse)
    ),
}
MISTAKES = (
    Mistake(
        cause="factor",
        hint="The scores are not divided by √dimension.",
        reference=partial(_scaled_by, lambda dimension: 1.0),
        near=NEAR_SCALE,
    ),
    Mistake(
        cause="factor",
        hint="The scores are divided by the dimension: its square root belongs there.",
        reference=partial(_scaled_by, lambda dimension: 1 / dimension),
        near=NEAR_SCALE,
    ),
    Mistake(
        cause="factor",
        hint="The exponentials are powers of 2: exp(x) is exp2(x * log2(e)), so the scores need "
        "another factor of log2(e), which is 1.4427.",
        reference=partial(_scaled_by, lambda dimension: math.log(2) / math.sqrt(dimension)),
        near=(r"exp2\(", r"scale"),
    ),
    Mistake(
        cause="factor",
        hint="The scores have a factor of log2(e) that only exp2 asks for: exp takes them as they "
        "are.",
        reference=partial(_scaled_by, lambda dimension: 1 / (math.log(2) * math.sqrt(dimension))),
        near=(r"exp\(", r"scale"),
    ),
    Mistake(
        cause="factor",
        hint="The exponentials are right and their sum is missing: divide each row of the output "
        "by it.",
        reference=partial(_attention, _powers),
        near=(r"store\(out", r"store\("),
    ),
    *(
        Mistake(
            cause=cause,
            hint=hint,
            reference=partial(_masked, shares, keys),
            near=(*NEAR_MASK, r"dot\("),
        )
        for cause, hint, shares in MASKS
        for keys in (1, *BLOCKS)
    ),
    Mistake(
        cause="transposed",
        hint="The scores are transposed: rows are queries, and each row's softmax goes over keys.",
        reference=partial(_attention, _earlier),
        near=(r"dot\(", r"sum\("),
    ),
    *(
        Mistake(
            cause="block_index",
            hint=f"All heads take {name} of the first one: a head begins as many rows further as "
            "there are tokens.",
            reference=partial(_one_head_for_all, name),
            near=(rf"load\({name}\b",),
        )
        for name in ("q", "k", "v")
    ),
    *(
        Mistake(
            cause="rescale",
            hint=hint,
            reference=partial(_running, lanes=keys, shrunk=shrunk),
            near=NEAR_RESCALE,
        )
        for hint, shrunk in RESCALED.items()
        for keys in BLOCKS
    ),
)


SPEC = Spec(
    title="Flash attention",
    summary="Attention with a running softmax and a running output, and no matrix of scores.",
    needs=("04_online_softmax", "t03_tile"),
    backend="triton",
    entry="flash_attention",
    arguments=(
        reads("q"),
        reads("k", at_most=None),
        reads("v", at_most=None),
        writes("out", like="q"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    strided=True,
    targets=(90,),
    # Heads, head dimension, tokens.
    edges=(
        Case((1, 1, 1), "float32"),
        Case((1, 16, 2), "float16"),
        Case((2, 2, 3), "bfloat16", pad=3),
        Case((3, 7, 5), "float32", draw="integers", pad=1),
        Case((2, 16, 31), "float16", draw="ties"),
        Case((2, 13, 65), "bfloat16", draw="extremes"),
        Case((3, 17, 45), "float16", draw="constant", offset=1),
        Case((2, 33, 127), "float32", draw="denormals", pad=3),
        Case((3, 64, 128), "bfloat16"),
        Case((2, 128, 129), "float16", draw="extremes", pad=7),
        Case((4, 31, 255), "bfloat16", draw="integers"),
        Case((2, 127, 257), "float32", pad=5, offset=1),
        Case((1, 63, 385), "float16", draw="denormals"),
        Case((1, 5, 427), "float32", draw="constant"),
        Case((1, 65, 511), "bfloat16", draw="ties", pad=1),
        Case((1_023, 3, 7), "float32", pad=3),
        Case((1_024, 5, 2), "float32", draw="extremes"),
        Case((1, 4, 1_025), "float16", draw="extremes", pad=3),
        Case((4_099, 3, 2), "float32"),
    ),
    # More heads than a grid has programs along y.
    launched=Case((65_537, 3, 5), "float32"),
    largest=(4, 128, 200),
    most_elements=2**16,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: max(case.shape[1:]), magnitude=magnitude, intermediate=intermediate
    ),
    pictured=Case((1, 2, 66), "float32"),
    counted=Case((1, 16, 2_053), "bfloat16", pad=3),
    # So many tokens that a buffer of one head's scores exceeds the budget, with a byte for each.
    memory_counted=Case((2, 16, 740), "bfloat16", pad=3),
    memory_budget=lambda case: 1 << 19,
    scored=Scored(
        dtype="bfloat16",
        rows=64,
        columns=(128, 4_096),
        bound="reference",
        against=Path(__file__).with_name("eager.py"),
    ),
    # Two products, each with a multiplication and an addition for each dimension and each key that
    # a query sees: half of all, nearly.
    flops=lambda case: 2 * case.elements * case.shape[2],
    gates=Gates(passing=0.5, great=0.8),
    hints=(
        "Begin with one program for each block of queries of each head. The number of blocks "
        "divides the program's number: the quotient is the head, the remainder the block. Load "
        "the block of q once, before the loop, as a tile of (QUERIES, DIMENSION).",
        "Loop over blocks of keys from 0 to the block's last query. Load the keys turned, as a "
        "tile of (DIMENSION, KEYS), so that `tl.dot` of both tiles has a row for each query. "
        "Multiply by `scale`, and give each key that lies behind its query the score -infinity.",
        "Keep three things for each query: the highest score so far, the sum of exponentials, and "
        "the sum of exponentials times values. When the highest score grows, multiply both sums "
        "by exp2(old - new) before you add the block's own terms.",
        "The second product is `tl.dot` of the exponentials and the values, (QUERIES, KEYS) times "
        "(KEYS, DIMENSION). Bring the exponentials to the dtype of the values first. After the "
        "loop, divide each row by its sum of exponentials.",
        "A block of keys that ends before the block's first query needs no mask. So split the "
        "loop in two: first the blocks before the diagonal, then those on it. Begin with the "
        "programs that have most keys.",
    ),
    mistakes=MISTAKES,
)
