"""Softmax of a row by one block: all that the puzzles taught, put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """In the distribution `ties` all lies so far below 0 that exp of it is 0 in float32."""
    x = draw.tensor(case.shape)
    return {"x": x.sub_(200) if case.draw == "ties" else x}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].softmax(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """y * (1 + max - x): rounding x - max by one part in 2**24 changes exp(x - max) by
    (max - x) parts in 2**24, and the sum and the division add a few parts more."""
    x = inputs["x"].double()
    return {"out": expected["out"] * (1 + (x.amax(-1, keepdim=True) - x))}


SPEC = Spec(
    title="Softmax of a row",
    summary="Turn each row into shares of 1: one block finds its maximum and its sum.",
    needs=("p15_axis_sum",),
    backend="numba",
    entry="softmax",
    arguments=(reads("x", at_most=3), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "ties", "integers", "spikes"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32", draw="ties"),
        Case((3, 2), "float32", offset=1),
        Case((2, 31), "float32", draw="integers"),
        Case((2, 32), "float32"),
        Case((2, 33), "float32", draw="spikes"),
        Case((5, 7), "float32", draw="ties"),
        Case((1, 64), "float32", draw="spikes"),
        Case((2, 65), "float32", offset=1),
        Case((12, 37), "float32", draw="spikes"),
        Case((2, 131), "float32"),
    ),
    largest=(8, 140),
    most_elements=300,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1], magnitude=magnitude),
    counted=Case((3, 101), "float32"),
    # 4 of the 101 columns, in three passes; in one where a thread keeps what it has read.
    budgets=(Budget("global_reads", most=12, best=4), Budget("global_writes", most=4, best=4)),
    pictured=Case((2, 6), "float32", draw="integers"),
    hints=(
        "Three loops over the row, one after another. Each starts at `t` and takes "
        "steps of THREADS, as in puzzle 08. Between them the block agrees on one number.",
        "First the maximum: each thread takes `highest = max(highest, x[row, column])` over its "
        "columns, and then `highest = block_max(highest)` makes one maximum from those of "
        "all threads.",
        "Then the sum, in the same way: add `math.exp(x[row, column] - highest)` to `total`, and "
        "after the loop `total = block_sum(total)`.",
        "The third loop stores `math.exp(x[row, column] - highest) / total`. Both block functions "
        "are called by every thread, even by one that had no column.",
    ),
    limits=Limits(call_s=10),
)
