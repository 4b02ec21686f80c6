"""Broadcast: a table from a column and a row, whose elements are used again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Shape, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    rows, columns = case.shape
    return {"a": draw.tensor((rows,)), "b": draw.tensor((columns,))}


def table(inputs: Inputs) -> Shape:
    return (inputs["a"].shape[0], inputs["b"].shape[0])


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"].unsqueeze(1) * inputs["b"].unsqueeze(0)}


SPEC = Spec(
    title="Broadcast",
    summary="Fill a table with the products of two arrays: an element serves many threads.",
    needs=("p04_map_2d",),
    backend="numba",
    entry="products",
    # An element of a is read by each thread of its row, one of b by each of its column.
    arguments=(
        reads("a", at_most=None),
        reads("b", at_most=None),
        writes("out", shape=table, dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32"),
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
    # A thread for each place: one element of a, one of b, and the product.
    budgets=(Budget("global_reads", most=2, best=2), Budget("global_writes", most=1, best=1)),
    pictured=Case((3, 9), "float32"),  # y ends at 7: x and y swapped show
    hints=(
        "Each thread has one place of the table, as in the last puzzle. What does the product "
        "there need of `a`, and what of `b`?",
        "All places of a row need the same element of `a`. All places of a column need the same "
        "element of `b`.",
        "`a` has one element for each row: `a[row]`. `b` has one for each column: `b[column]`. So "
        "there are as many rows as `a` has elements, which is what the guard needs.",
        "`row = cuda.threadIdx.y` and `column = cuda.threadIdx.x`, then "
        "`if row < a.size and column < b.size:`, and inside "
        "`out[row, column] = a[row] * b[column]`.",
    ),
    limits=Limits(call_s=10),
)
