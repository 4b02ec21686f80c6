"""Transpose: shared memory as the place where an order of access is changed, and its banks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

COUNTED = (32, 96)  # three tiles of 32 by 32
ELEMENTS_PER_PIECE = 8  # of float32, in 32 bytes


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"x": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].T.contiguous()}


SPEC = Spec(
    title="Transpose",
    summary="Turn rows into columns in tiles, without bank conflicts.",
    needs=("p07_blocks_2d", "p09_coalesced", "p10_shared"),
    backend="numba",
    entry="transpose",
    arguments=(
        reads("x"),
        writes("out", shape=lambda inputs: tuple(reversed(inputs["x"].shape)), dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32"),
        Case((3, 2), "float32", draw="integers"),
        Case((1, 33), "float32"),
        Case((40, 1), "float32", offset=1),
        Case((7, 9), "float32"),
        Case((8, 32), "float32"),
        Case((32, 32), "float32"),
        Case((33, 31), "float32", offset=1),
        Case((31, 65), "float32", draw="integers"),
        Case((64, 3), "float32"),
        Case((67, 34), "float32"),
    ),
    largest=(40, 40),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("rows", "integers")),
    counted=Case(COUNTED, "float32"),
    budgets=(
        # All of x and all of out, in whole pieces; a quarter more for another way to cut it up.
        Budget("transactions", most=960, best=2 * COUNTED[0] * COUNTED[1] // ELEMENTS_PER_PIECE),
        Budget("bank_conflicts", most=0, best=0),
    ),
    pictured=Case((5, 12), "float32", draw="integers"),
    hints=(
        "The loop that is there reads rows of `x` and writes rows of the tile. Yours reads columns "
        "of the tile and writes rows of `out`: so neighbouring threads always meet neighbouring "
        "elements of `x` and of `out`.",
        "In `out` the tile is turned: its first row there is `left`, its first column "
        "`top`. So `out[left + row, top + tx]` gets the element that came from row `tx` and column "
        "`row` of the tile.",
        "All of the tile must be there before any of its columns is read, and the threads that "
        "wrote a column are not those that read it: `cuda.syncthreads()`, outside of every `if`.",
        "Reading down a column, 32 threads step from row to row. With rows of 32 elements, each "
        "step is 32 banks: always the same bank. With rows of 33, each step is one bank further. "
        "The shape must be written in plain numbers: `cuda.shared.array((32, 33), float32)`.",
    ),
    independent_rows=False,
    limits=Limits(call_s=10),
)
