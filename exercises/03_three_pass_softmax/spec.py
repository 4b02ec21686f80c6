"""Three-pass softmax: rows longer than any block, one loop over blocks for each pass."""

from __future__ import annotations

from collections.abc import Mapping
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


def _exponentials(inputs: Inputs) -> Tensor:
    x = inputs["x"].float()  # as a GPU computes, where a wrong sum may overflow
    return (x - x.amax(-1, keepdim=True)).exp()


def _of_last_sum(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Divide by the sum of the last block alone, whose lanes past the end add nothing."""
    terms = _exponentials(inputs)
    return {"out": terms / terms.split(lanes, -1)[-1].sum(-1, keepdim=True)}


def _of_whole_blocks(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    terms = _exponentials(inputs)
    whole = terms.shape[-1] // lanes * lanes
    return {"out": terms / terms[..., :whole].sum(-1, keepdim=True)}


def _of_first_block(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    terms = _exponentials(inputs)
    return {"out": terms / terms[..., :lanes].sum(-1, keepdim=True)}


def _of_last_maximum(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Subtract the maximum of the last block, lane by lane: an older, larger one overflows."""
    x = inputs["x"].float()
    highest = x.split(lanes, -1)[-1].amax(-1, keepdim=True)
    terms = (x - highest).exp()
    return {"out": terms / terms.sum(-1, keepdim=True)}


MISTAKES = (
    Mistake(
        cause="last_block_kept",
        hint="The sum is that of the last block alone: each block's exponentials replace those "
        "before them. Add them: sums += ...",
        blocked=_of_last_sum,
        near=(r"^\w+ = (tl\.sum\()?tl\.exp\(",),
    ),
    Mistake(
        cause="last_block_kept",
        hint="The maximum is that of the last block alone. Compare with the highest so far: "
        "highest = tl.maximum(highest, x).",
        blocked=_of_last_maximum,
        near=(r"^\w+ = (x\b|tl\.max\()",),
    ),
    Mistake(
        cause="tail",
        hint="The sum leaves out the last, incomplete block of each row. Let the loop go on to "
        "the end of the row: range(0, columns, BLOCK), with a mask.",
        blocked=_of_whole_blocks,
        near=(r"for .*//",),
    ),
    Mistake(
        cause="first_block_only",
        hint="The sum is that of the first block alone. Where does the loop add the others?",
        blocked=_of_first_block,
        near=(r"\+= .*exp\(", r"exp\("),
    ),
    Mistake(
        cause="factor",
        hint="The exponentials are right and their sum is missing: each is divided by the sum of "
        "its row.",
        reference=lambda inputs: {"out": _exponentials(inputs)},
        near=(r"^\w+ = tl\.exp\(", r"exp\("),
    ),
)


SPEC = Spec(
    title="Three-pass softmax",
    summary="Softmax of rows longer than any block, in three passes: maximum, sum, answer.",
    needs=("01_vector_add", "t05_block_loop"),
    backend="triton",
    entry="softmax",
    arguments=(reads("x", at_most=3), writes("out", like="x")),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers", "spikes", "sunken"),
    strided=True,
    edges=(
        Case((1, 1), "float32"),
        Case((2, 3), "float16"),
        Case((3, 2), "bfloat16", pad=3),
        Case((5, 7), "float32", pad=3),
        Case((64, 1), "float32", draw="extremes"),
        Case((2, 127), "float16", draw="ties"),
        Case((1, 128), "float32", draw="constant"),
        Case((3, 129), "bfloat16", draw="extremes", offset=1),
        Case((2, 1023), "float32", draw="extremes"),
        Case((2, 1024), "float16", draw="denormals"),
        Case((3, 1025), "float32", pad=3, offset=1),
        Case((2, 4097), "bfloat16", draw="integers", pad=1),
        Case((101, 101), "float32", draw="spikes"),
        Case((3, 4097), "float32", draw="spikes"),
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
    pictured=Case((2, 6), "float32"),
    counted=Case((2, 32_771), "float32", pad=3),
    scored=Scored(dtype="float32", columns=65_536),
    # Per element: maximum, subtraction, exp, addition to the sum, division. What the three
    # passes compute twice counts once.
    flops=lambda case: 5 * case.elements,
    gates=Gates(passing=0.42, great=0.48),
    hints=(
        "Give each row its own program. Within it, a loop `for start in range(0, columns, BLOCK)` "
        "walks over the row, and `start + tl.arange(0, BLOCK)` are the columns of one block.",
        "The last block may reach past the row. Load with `mask=offsets < columns` and with "
        '`other=float("-inf")`: minus infinity never wins a maximum, and exp of it is 0, which '
        "adds nothing to a sum. The store needs the same mask.",
        "Keep one running value for each of the BLOCK lanes (a maximum in the first pass, a sum in "
        "the second) and reduce over the lanes once, after the loop. Convert what you load with "
        "`.to(tl.float32)` first: float16 and bfloat16 are too coarse for a long sum.",
        "`tl.maximum(highest, x)` compares lane by lane, and `tl.max(highest, axis=0)` makes one "
        "number of it. The second pass adds `tl.exp(x - row_max)`, the third stores "
        "`tl.exp(x - row_max) / total`. `x` starts a row at `x_ptr + row * x_stride`, `out` at "
        "`out_ptr + row * out_stride`: they are two different strides.",
    ),
    mistakes=MISTAKES,
)
