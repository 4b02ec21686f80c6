"""A 2-D tile: a table covered by tiles of 16 rows and 32 columns, one for each program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"x": draw.tensor(case.shape), "bias": draw.tensor(case.shape[-1:])}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"] + inputs["bias"]}


def sizes(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|x| + |bias|: the two may cancel, the rounding of the sum does not shrink with them."""
    return {"out": inputs["x"].abs() + inputs["bias"].abs()}


SPEC = Spec(
    title="A 2-D tile",
    summary="Add a row to every row of a table: a tile of rows and columns for each program.",
    needs=("t02_masks",),
    backend="triton",
    entry="add_bias",
    # Each element of bias is read by all programs of its columns.
    arguments=(reads("x"), reads("bias", at_most=None), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 9), "float32", draw="integers"),
        Case((5, 1), "float32"),
        Case((16, 32), "float32", offset=1),
        Case((17, 33), "float32"),
        Case((15, 31), "float32", draw="integers"),
        Case((33, 5), "float32"),
        Case((3, 100), "float32", draw="integers"),
        Case((2, 1100), "float32"),  # 35 tiles across: more than a tile has rows or columns
        Case((600, 3), "float32"),  # and 38 down
    ),
    largest=(100, 100),
    most_elements=1000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: 1, magnitude=sizes, exact=("integers",), rounded_once=True
    ),
    counted=Case((40, 70), "float32"),
    # 3 tiles down, 3 across; of the first one all 512 elements are read and written, and 32 of
    # bias read. One of bias for each element of the tile is a waste that an honest kernel may have.
    budgets=(
        Budget("programs", most=9, best=9),
        Budget("loads", most=2, best=2),
        Budget("stores", most=1, best=1),
        Budget("bytes", most=6144, best=4224),
    ),
    pictured=Case((18, 36), "float32", draw="integers"),
    hints=(
        "`row` has 16 numbers and `column` 32. `row[:, None]` stands upright, 16 by 1, and "
        "`column[None, :]` lies flat, 1 by 32. An operation of the two makes a tile, 16 by 32.",
        "Element (r, c) of a table lies at `r * columns + c`: "
        "`offsets = row[:, None] * columns + column[None, :]`.",
        "The mask is a tile too: `inside = (row[:, None] < rows) & (column[None, :] < columns)`.",
        "`bias` has one number for each column: "
        "`bias = tl.load(bias_ptr + column, mask=column < columns)`, and `x + bias[None, :]` adds "
        "it to each row of the tile.",
        "The grid is a pair, rows first because the kernel asks `tl.program_id(0)` for its rows: "
        "`return triton.cdiv(rows, 16), triton.cdiv(columns, 32)`.",
    ),
    limits=Limits(call_s=10),
)
