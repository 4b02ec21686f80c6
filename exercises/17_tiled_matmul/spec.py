"""Tiled matrix product: tiles that a program multiplies, in an order that the L2 cache likes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    ITEMSIZE,
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

SMALLEST_TILE = 64  # rows and columns of the smallest tile of out whose traffic is permitted
COUNTED = (300, 70, 517)  # rows of a, terms, columns of b: 3 x 3 tiles of 128 x 256, of no full row


def tiles(extent: int) -> int:
    return math.ceil(extent / SMALLEST_TILE)


def inputs(case: Case, draw: Draw) -> Inputs:
    """Draw a and b, with a divided by the number of terms: float16 ends at 65,504.

    So an output is a mean of products, and none exceeds the largest |a| times the largest |b|.
    Whole numbers stay as they are: their sums are exact.
    """
    m, k, n = case.shape
    extreme = math.sqrt(LARGEST[case.dtype] / 4)  # a law doubles what it draws
    a, b = draw.tensor((m, k), extreme=extreme), draw.tensor((k, n), extreme=extreme)
    if case.draw != "integers":
        a.div_(k)
    return {"a": a, "b": b}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] @ inputs["b"]}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a * b| for each element: terms may cancel, their rounding errors do not."""
    return {"out": inputs["a"].abs() @ inputs["b"].abs()}


def memory_budget(case: Case) -> int:
    """Return 1 % of the largest matrix, and at least 32 MiB.

    Programs that share a tile's terms keep their sums in scratch: of 132 multiprocessors with a
    tile of 128 x 256 float32 each that is 17 MB. A copy of a scored matrix has 134 MB.
    """
    m, k, n = case.shape
    return max(32 << 20, max(m * k, k * n, m * n) * ITEMSIZE[case.dtype] // 100)


def _in_tf32(inputs: Inputs) -> Mapping[str, Tensor]:
    """Drop the last 13 of the 23 digits behind the point of each factor."""
    import torch

    a, b = (
        (inputs[name].float().view(torch.int32) & ~0x1FFF).view(torch.float32).double()
        for name in ("a", "b")
    )
    return {"out": a @ b}


def _of_terms(inputs: Inputs, terms: slice) -> Mapping[str, Tensor]:
    """Add up some of the terms and no others."""
    return {"out": inputs["a"][:, terms] @ inputs["b"][terms]}


def _whole_steps(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    return _of_terms(inputs, slice(len(inputs["b"]) // lanes * lanes))


def _first_step(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    return _of_terms(inputs, slice(lanes))


def _last_step(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    return _of_terms(inputs, slice((len(inputs["b"]) - 1) // lanes * lanes, None))


LOOP = r"\bin (tl\.)?(static_)?range\("
MISTAKES = (
    Mistake(
        cause="precision",
        hint="float32 is multiplied in TF32, which drops the last 13 of 23 digits. Multiply with "
        'input_precision="ieee".',
        reference=_in_tf32,
        near=(r"\bdot\(", r"\bsum\("),
    ),
    Mistake(
        cause="tail",
        hint="The last terms are missing, which fill no whole step. Let the loop go on to k, and "
        "mask what lies beyond.",
        blocked=_whole_steps,
        near=(LOOP + r".*//", LOOP),
    ),
    Mistake(
        cause="first_block_only",
        hint="The first step of terms is multiplied, and no other: a loop must go along all k of "
        "them.",
        blocked=_first_step,
        near=(LOOP, r"\bdot\("),
    ),
    Mistake(
        cause="last_block_kept",
        hint="Only the product of the last step is stored. Add each product to the sums of those "
        "before: tl.dot takes them as its third argument.",
        blocked=_last_step,
        near=(r"\bdot\(",),
    ),
)


SPEC = Spec(
    title="Tiled matrix product",
    summary="Multiply matrices tile by tile, in an order that shares them in the L2 cache.",
    needs=("01_vector_add", "t03_tile", "t05_block_loop"),
    backend="triton",
    entry="tiled_matmul",
    arguments=(
        # Each tile of out reads its rows of a and its columns of b, whole. Of the counted case.
        reads("a", at_most=tiles(COUNTED[2])),
        reads("b", at_most=tiles(COUNTED[0])),
        writes(
            "out",
            like="a",
            shape=lambda inputs: (inputs["a"].shape[0], inputs["b"].shape[1]),
        ),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "integers"),
    strided=True,
    edges=(
        Case((1, 1, 1), "float32"),
        Case((2, 1, 3), "float16"),
        Case((3, 2, 1), "bfloat16", pad=3),
        Case((1, 127, 2), "float32", draw="integers", pad=1),
        Case((17, 5, 31), "float32", draw="ties"),
        Case((2, 128, 129), "float16", draw="extremes"),
        Case((63, 33, 65), "bfloat16", draw="integers", offset=1),
        Case((129, 16, 127), "float32", draw="extremes", pad=5),
        Case((64, 31, 257), "float16", draw="ties", pad=1),
        Case((128, 65, 64), "bfloat16", pad=8),
        Case((5, 613, 37), "float16", draw="constant", pad=3),
        Case((33, 1_023, 3), "bfloat16", draw="ties", offset=1),
        Case((1, 1_024, 130), "float32", draw="extremes"),
        Case((3, 1_025, 67), "float16", draw="integers"),
        Case((13, 211, 300), "bfloat16", draw="constant", pad=1),
        Case((2_049, 3, 130), "float16", draw="rows", pad=7),
        Case((257, 7, 513), "bfloat16", draw="extremes", pad=3),
        Case((9, 5_003, 20), "bfloat16", draw="integers", offset=1),
        Case((21, 1_511, 29), "float32", draw="constant", offset=1),
        Case((4_099, 3, 67), "float32", pad=1),
        Case((2_100, 1, 401), "float32", draw="ties"),
        Case((16, 5_003, 13), "bfloat16"),
        Case((100, 101, 102), "float32", offset=1),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3, 5), "float32"),
    largest=(300, 5_000, 600),
    most_elements=2**19,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[1], magnitude=magnitude, exact=("integers",)),
    # Two tiles of out, and two steps along the terms.
    pictured=Case((130, 34, 3), "float32", draw="integers"),
    counted=Case(COUNTED, "bfloat16", pad=3),
    # Of a the most bytes, so that a copy of it is seen to grow with the rows.
    memory_counted=Case((256, 300, 64), "bfloat16", pad=3),
    memory_budget=memory_budget,
    # On older GPUs no multiprocessor holds three steps of such tiles.
    targets=(90, 100),
    scored=Scored(dtype="bfloat16", rows=8_192, columns=(8_192, 8_192), bound="arithmetic"),
    # A multiplication and an addition for each term of each element of out.
    flops=lambda case: 2 * case.elements,
    # The solution reaches 0.865 on an H200.
    gates=Gates(passing=0.60, great=0.85),
    hints=(
        "Begin with one tile of out for each program, and forget the order. The program needs all "
        "terms of its rows of a and of its columns of b: a loop along the terms, with a tile of a "
        "and a tile of b in each turn.",
        "Keep the tile of sums in float32, filled with zeros before the loop. Each turn adds a "
        "product to it by `tl.dot`. Turn the sums into the dtype of out once, after the loop.",
        "Each mask has two parts, one for each axis of its tile. Terms beyond k must be 0 in both "
        "tiles, because 0 times NaN is NaN. Rows beyond m and columns beyond n need no zeros: they "
        "are not stored.",
        "For the order, count tiles in groups of GROUP rows of tiles. A full group has GROUP times "
        "as many programs as out has columns of tiles. Within it, the remainder by the group's "
        "height goes down, and the quotient goes to the right. The last group may be lower.",
    ),
    mistakes=MISTAKES,
)
