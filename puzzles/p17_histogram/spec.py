"""Histogram: many threads add to the same few counters, and no addition may be lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

BINS = 10
THREADS = 64  # in a block of the stub
COUNTED = 500  # elements


def inputs(case: Case, draw: Draw) -> Inputs:
    """Numbers from 0 to 9; in the distribution `constant` all of them are 9."""
    if case.draw == "constant":
        return {"data": draw.indices(case.elements, 1) + (BINS - 1)}
    return {"data": draw.indices(case.elements, BINS)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    data = inputs["data"]
    of_bin = data.unsqueeze(1) == data.new_tensor(range(BINS))
    return {"out": of_bin.sum(0).double()}


SPEC = Spec(
    title="Histogram",
    summary="Count how often each number occurs, with atomic additions.",
    needs=("p10_shared",),
    backend="numba",
    entry="histogram",
    arguments=(
        reads("data"),
        # Each counter is cleared once, and each block adds its own count once.
        writes("out", shape=(BINS,), dtype="float32", at_most=1 + -(-COUNTED // THREADS)),
    ),
    dtypes=("float32",),
    draws=("rows", "constant"),
    edges=(
        Case((1,), "float32", draw="constant"),
        Case((2,), "float32"),
        Case((3,), "float32", draw="constant"),
        Case((31,), "float32"),
        Case((63,), "float32"),
        Case((64,), "float32", draw="constant"),
        Case((65,), "float32", draw="constant"),
        Case((97,), "float32"),
        Case((200,), "float32"),
        # A count that takes more digits than the next lower precision has.
        Case((2049,), "float32", draw="constant"),
    ),
    largest=(200,),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("rows", "constant")),
    counted=Case((COUNTED,), "float32"),
    # An element and a counter of out; all counters for a thread that alone adds its block's.
    budgets=(Budget("global_reads", most=1 + BINS, best=2),),
    pictured=Case((12,), "float32"),
    hints=(
        "Three parts, with a barrier between each and the next: clear the block's counters, count "
        "in them, add them to `out`.",
        "There are 64 threads and 10 counters: `if t < BINS:` picks one thread for each counter, "
        "to clear it and, at the end, to add it to `out`.",
        "`cuda.atomic.add(array, index, value)` does what `array[index] += value` should. For the "
        "counting, the array is `counts`, the index is `data[i]` and the value is 1.0.",
        "At the end another block may add to the same element of `out` at that moment. So that "
        "addition is atomic, too: `cuda.atomic.add(out, t, counts[t])`.",
    ),
    independent_rows=False,
    limits=Limits(call_s=10),
)
