"""Blocks in 2-D: a table larger than a block, covered by blocks in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape), "bias": draw.tensor(case.shape[-1:])}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] + inputs["bias"]}


def sizes(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|a| + |bias|: the two may cancel, the rounding of the sum does not shrink with them."""
    return {"out": inputs["a"].abs() + inputs["bias"].abs()}


SPEC = Spec(
    title="Blocks in 2-D",
    summary="Add a row to every row of a table: blocks in both directions.",
    needs=("p04_map_2d", "p06_blocks"),
    backend="numba",
    entry="add_bias",
    # Each element of bias is read by the threads of a whole column.
    arguments=(reads("a"), reads("bias", at_most=None), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 9), "float32", draw="integers"),
        Case((5, 1), "float32"),
        Case((4, 8), "float32", offset=1),
        Case((5, 9), "float32"),
        Case((9, 5), "float32", draw="integers"),
        Case((13, 13), "float32"),
        Case((3, 40), "float32"),
        Case((24, 3), "float32"),
        Case((2, 129), "float32"),  # 17 blocks across: more than a block has threads there
        Case((65, 3), "float32"),  # and 17 down
    ),
    largest=(24, 40),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, magnitude=sizes, exact=("integers",)),
    counted=Case((9, 19), "float32"),
    # A thread for each element: one of a, one of bias, and the sum.
    budgets=(Budget("global_reads", most=2, best=2), Budget("global_writes", most=1, best=1)),
    pictured=Case((5, 9), "float32", draw="integers"),
    hints=(
        "Puzzle 06 in each direction: `cuda.blockIdx.x` and `cuda.blockDim.x` for the columns, "
        "`cuda.blockIdx.y` and `cuda.blockDim.y` for the rows.",
        "`cuda.grid(2)` works out both at once. It gives x first: the column, then the row.",
        "`column, row = cuda.grid(2)`, then the guard of puzzle 04, in both directions. The "
        "element of the column is `bias[column]`.",
        "The grid has two numbers as well, and x is again the first. The columns go in x "
        "direction: it takes columns ÷ `ACROSS` blocks, rounded up, and rows ÷ `DOWN` for y.",
        "`return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN`. In the kernel, "
        "inside of the guard: `out[row, column] = a[row, column] + bias[column]`.",
    ),
    limits=Limits(call_s=10),
)
