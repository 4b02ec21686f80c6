"""Map in 2-D: threads that are numbered in two directions, one for each element of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] + 10}


SPEC = Spec(
    title="Map in 2-D",
    summary="Add 10 to every element of a table: threads in rows and columns.",
    needs=("p03_guard",),
    backend="numba",
    entry="add_ten_2d",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32", draw="integers"),
        Case((2, 1), "float32"),
        Case((3, 5), "float32", offset=1),
        Case((8, 8), "float32"),
        Case((8, 9), "float32", draw="integers"),
        Case((7, 16), "float32"),
        Case((8, 16), "float32"),
    ),
    largest=(8, 16),
    most_elements=128,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((5, 13), "float32"),
    # A thread for each element: no thread has room for a second one.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((3, 9), "float32", draw="integers"),  # y ends at 7: x and y swapped show
    hints=(
        "An element of a table has two numbers, its row and its column, and now a thread has two "
        "as well.",
        "`cuda.threadIdx.x` counts along a row, so it is the number of the column. "
        "`cuda.threadIdx.y` is the number of the row.",
        "The guard needs both: the row must be less than `a.shape[0]`, and the column less than "
        "`a.shape[1]`.",
        "`row = cuda.threadIdx.y` and `column = cuda.threadIdx.x`, then "
        "`if row < a.shape[0] and column < a.shape[1]:`, and inside "
        "`out[row, column] = a[row, column] + 10`.",
    ),
    limits=Limits(call_s=10),
)
