"""Online softmax: maximum and sum in one pass, so that a row is read twice."""

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
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    # Half of the largest, so that x - max stays a float32 however far apart the two are.
    return {"x": draw.tensor(case.shape, extreme=LARGEST[case.dtype] / 2)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].softmax(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """y * (1 + max - x): rounding x - max by one part in 2**24 changes exp(x - max) by
    (max - x) parts in 2**24, and the sum and the division add a few parts more."""
    x = inputs["x"].double()
    return {"out": expected["out"] * (1 + (x.amax(-1, keepdim=True) - x))}


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


def _softmax_of(how: str, inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    highest, total = _running(inputs["x"], lanes, RESCALED[how])
    return {"out": (inputs["x"].float() - highest).exp() / total}


def _of_last_maximum(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Compute with the maximum of each block in place of the highest so far."""
    x = inputs["x"].float()
    total, highest = x.new_zeros((*x.shape[:-1], 1)), x.new_full((*x.shape[:-1], 1), float("-inf"))
    for block in x.split(lanes, -1):
        new = block.amax(-1, keepdim=True)
        total = total * (highest - new).exp() + (block - new).exp().sum(-1, keepdim=True)
        highest = new
    return {"out": (x - highest).exp() / total}


MISTAKES = (
    *(
        Mistake(
            cause="rescale",
            hint=f"The running sum is not brought to a new maximum: {how}. When the maximum grows "
            "from old to new, multiply the sum so far by exp(old - new), and then add the block's "
            "exp(x - new).",
            blocked=partial(_softmax_of, how),
            near=(r"\+=.*exp\(|= .*\w+ *[*+].*exp\(",),
        )
        for how in RESCALED
    ),
    Mistake(
        cause="last_block_kept",
        hint="The maximum is that of the last block alone. Compare the block's maximum with the "
        "highest so far: new = tl.maximum(old, tl.max(x)).",
        blocked=_of_last_maximum,
        near=(r"= tl\.max\(",),
    ),
    Mistake(
        cause="factor",
        hint="The exponentials are right and their sum is missing: each is divided by the sum of "
        "its row.",
        reference=lambda inputs: {"out": (inputs["x"] - inputs["x"].amax(-1, keepdim=True)).exp()},
        near=(r"exp\(.*\n*", r"exp\("),
    ),
)


SPEC = Spec(
    title="Online softmax",
    summary="Softmax with maximum and sum in one pass: one read fewer.",
    needs=("03_three_pass_softmax",),
    backend="triton",
    also_in=("cuda",),
    entry="softmax",
    arguments=(reads("x", at_most=2), writes("out", like="x")),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers", "sunken"),
    strided=True,
    edges=(
        Case((1, 1), "float32"),
        Case((2, 3), "float16"),
        Case((3, 2), "bfloat16", pad=3),
        Case((5, 7), "float32", pad=3),
        Case((2, 127), "float16", draw="ties"),
        Case((1, 128), "float32", draw="constant"),
        Case((3, 129), "bfloat16", draw="extremes", offset=1),
        Case((2, 1023), "float32", draw="extremes"),
        Case((2, 1024), "float16", draw="denormals"),
        Case((3, 1025), "float32", pad=3, offset=1),
        Case((2, 4097), "bfloat16", draw="integers", pad=1),
        Case((6, 10_007), "float32"),
        Case((4, 12_289), "float16", draw="extremes"),
        Case((3, 20_011), "float16", pad=5),
        Case((2, 131_072), "float32", pad=8),
        Case((131, 255), "bfloat16", draw="sunken"),
        Case((3, 16_385), "float16", draw="sunken", offset=1),
        Case((300, 257), "float32", draw="constant", pad=1),
        Case((5, 32_771), "bfloat16", draw="denormals"),
        Case((65, 1_029), "float16", draw="integers", pad=3),
        Case((2, 100_003), "float32", draw="ties"),
        Case((4_097, 67), "float32", pad=5),
        Case((3, 131_072), "bfloat16"),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, 131_072),
    most_elements=2**19,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1], magnitude=magnitude),
    pictured=Case((2, 4100), "float32", draw="integers"),
    counted=Case((2, 32_771), "float32", pad=3),
    scored=Scored(dtype="float32", columns=65_536),
    # Per element: maximum, subtraction, exp, addition to the sum, division. What the two
    # passes compute twice, and rescaling the sum, do not count.
    flops=lambda case: 5 * case.elements,
    gates=Gates(passing=0.56, great=0.80),
    hints=(
        "Start from your three-pass softmax and merge its first two loops. The sum needs a maximum "
        "before the maximum of the whole row is known: use the largest value seen so far.",
        "Suppose that the sum so far holds exp(x - 3) for some numbers, and then a 5 arrives. "
        "Since exp(x - 5) = exp(x - 3) * exp(3 - 5), one multiplication makes the whole old sum "
        "right for the new maximum. The factor is exp(old - new), never more than 1.",
        "For each block: load it with minus infinity where the mask is false; `new_max` is the "
        "larger of the old maximum and the block's; multiply the old sum by "
        "`exp(old_max - new_max)`; add the block's `exp(x - new_max)`; remember `new_max`.",
        'Start with a maximum of `float("-inf")` and a sum of zero. With one maximum for the whole '
        "program (`tl.max` of each block) it is finite after the first block. With a maximum for "
        "each lane, a lane that has seen only masked elements computes -inf - -inf, which is NaN, "
        "in the factor and in the term that it adds: replace both by 0 there (`tl.where`), and "
        "rescale the lanes to one maximum at the end.",
    ),
    mistakes=MISTAKES,
)
