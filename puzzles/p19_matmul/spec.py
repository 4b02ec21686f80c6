"""Matrix product: tiles in shared memory, so that each element is read by a block, not a thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

TILE = 8
COUNTED = (13, 19, 16)  # rows of a, terms, columns of b


def tiles(extent: int) -> int:
    return (extent + TILE - 1) // TILE


def inputs(case: Case, draw: Draw) -> Inputs:
    rows, terms, columns = case.shape
    return {"a": draw.tensor((rows, terms)), "b": draw.tensor((terms, columns))}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] @ inputs["b"]}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a * b| for each element: terms may cancel, their rounding errors do not."""
    return {"out": inputs["a"].abs() @ inputs["b"].abs()}


SPEC = Spec(
    title="Matrix product",
    summary="Multiply matrices tile by tile, reading each element once for a block.",
    needs=("p07_blocks_2d", "p10_shared"),
    backend="numba",
    entry="matmul",
    arguments=(
        # Of the counted case, by each tile of out that lies beside or below it.
        reads("a", at_most=tiles(COUNTED[2])),
        reads("b", at_most=tiles(COUNTED[0])),
        writes(
            "out",
            shape=lambda inputs: (inputs["a"].shape[0], inputs["b"].shape[1]),
            dtype="float32",
        ),
    ),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1, 1), "float32"),
        Case((2, 3, 1), "float32"),
        Case((1, 9, 2), "float32", draw="integers"),
        Case((8, 8, 8), "float32"),
        Case((8, 16, 8), "float32", draw="integers"),
        Case((9, 7, 8), "float32", offset=1),
        Case((7, 9, 17), "float32"),
        Case((17, 1, 9), "float32"),
        Case((16, 3, 5), "float32"),
        Case((3, 25, 11), "float32"),
        Case((10, 23, 9), "float32", draw="integers"),
    ),
    largest=(17, 17, 17),
    most_elements=300,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[1], magnitude=magnitude, exact=("integers",)),
    counted=Case(COUNTED, "float32"),
    # One place of each tile in each round; twice that for a thread with two elements of out.
    budgets=(
        Budget("global_reads", most=2 * 2 * tiles(COUNTED[1]), best=2 * tiles(COUNTED[1])),
        Budget("global_writes", most=2, best=1),
    ),
    pictured=Case((3, 5, 4), "float32", draw="integers"),
    hints=(
        "In each round of the loop the block needs 8 by 8 elements of `a` and as many of `b`. It "
        "has 64 threads: each brings one element of `a` and one of `b`.",
        "Thread (tx, ty) brings `a[row, start + tx]` into `tile_a[ty, tx]`, and "
        "`b[start + ty, column]` into `tile_b[ty, tx]`. Where that is outside of the matrix, it "
        "puts a 0 there, which adds nothing.",
        "Then a barrier, for the other elements come from other threads. Then "
        "`for i in range(TILE):` with `total += tile_a[ty, i] * tile_b[i, tx]` in it.",
        "At the end of the round one more barrier. Without it, a fast thread puts the next "
        "elements into the tiles while a slow one still multiplies.",
    ),
    independent_rows=False,
    limits=Limits(call_s=10),
)
