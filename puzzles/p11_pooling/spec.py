"""Pooling: a window that moves along the array, each element in it read from memory once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

WINDOW = 4  # elements that one output looks at: part of the task


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    a = inputs["a"]
    out = a.clone()
    for back in range(1, WINDOW):
        out[back:] = out[back:].maximum(a[:-back])
    return {"out": out}


SPEC = Spec(
    title="Pooling",
    summary="At each place, the largest of the last four elements, each read only once.",
    needs=("p10_shared",),
    backend="numba",
    entry="pool",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # The window is 4 wide, a warp 32.
    edges=(
        Case((1,), "float32"),
        Case((3,), "float32"),
        Case((4,), "float32"),
        Case((5,), "float32", offset=1),
        Case((31,), "float32"),
        Case((33,), "float32", draw="integers"),
        Case((64,), "float32"),
        Case((128,), "float32"),
    ),
    largest=(128,),
    most_elements=128,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((97,), "float32"),
    # A thread for each element: the others of its window come from shared memory.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((10,), "float32", draw="integers"),
    hints=(
        "Begin as in the puzzle before: every thread puts its element into `shared`, then all "
        "wait. After that no thread looks at `a` again.",
        "Start with the thread's own element, `largest = shared[t]`. Then look back 1, 2 and 3 "
        "places, and keep whatever is larger.",
        "The first threads have fewer places before them: look at `shared[t - back]` only "
        "`if t - back >= 0`.",
        "`for back in range(1, WINDOW)`: if `t - back >= 0`, then "
        "`largest = max(largest, shared[t - back])`. After the loop `out[t] = largest`.",
    ),
    limits=Limits(call_s=10),
)
