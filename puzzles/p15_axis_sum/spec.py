"""Axis sum: a block for each row, and rows longer than a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def rows(inputs: Inputs) -> tuple[int, ...]:
    return (inputs["a"].shape[0],)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"].sum(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a|: rounding errors scale with the terms, which may cancel."""
    return {"out": inputs["a"].abs().sum(-1)}


SPEC = Spec(
    title="Axis sum",
    summary="The sum of each row of a matrix: one block for each row.",
    needs=("p12_dot",),
    backend="numba",
    entry="row_sums",
    arguments=(reads("a"), writes("out", shape=rows, dtype="float32")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # A block has 32 threads.
    edges=(
        Case((1, 1), "float32"),
        Case((2, 1), "float32"),
        Case((1, 2), "float32", draw="integers"),
        Case((3, 5), "float32"),
        Case((5, 3), "float32", draw="integers"),
        Case((2, 31), "float32", pad=3),
        Case((3, 32), "float32", offset=1),
        Case((2, 33), "float32"),
        Case((3, 64), "float32"),
        Case((2, 65), "float32", draw="integers"),
        Case((5, 101), "float32"),
        Case((1, 3001), "float32"),  # 94 for a thread: too many to count on
    ),
    largest=(8, 120),
    most_elements=400,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: case.shape[-1], magnitude=magnitude, exact=("integers",)
    ),
    counted=Case((3, 104), "float32"),
    budgets=(Budget("transactions", most=60, best=42),),
    pictured=Case((2, 32), "float32", draw="integers"),
    strided=True,
    hints=(
        "The number of the block says which row it works on: `cuda.blockIdx.x`. All of its threads "
        "work on that one row.",
        "A row may be longer than the block. So thread t takes column t, then column t + THREADS, "
        "and so on, and adds them up in a variable of its own.",
        "`total = float32(0.0)`, then `for column in range(t, a.shape[1], THREADS)`: "
        "`total += a[row, column]`. After the loop `shared[t] = total`, even when it is still 0.",
        "At the end: if `t == 0`, then `out[row] = shared[0]`.",
    ),
    limits=Limits(call_s=10),
)
