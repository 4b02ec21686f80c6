"""Grid-stride loop: a fixed number of threads for any number of elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] / 2}


SPEC = Spec(
    title="Grid-stride loop",
    summary="Halve every element: fewer threads than elements, and each does several.",
    needs=("p06_blocks",),
    backend="numba",
    entry="halve",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((31,), "float32", draw="integers"),
        Case((32,), "float32"),
        Case((33,), "float32", offset=1),
        Case((63,), "float32", draw="integers"),
        Case((64,), "float32"),
        Case((97,), "float32"),
        Case((500,), "float32"),
        Case((4095,), "float32", draw="integers"),  # 128 for each thread: too many to count on
    ),
    largest=(500,),
    most_elements=500,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((96,), "float32"),  # 3 for each thread: no thread has room for one more
    budgets=(Budget("global_reads", most=3, best=3), Budget("global_writes", most=3, best=3)),
    pictured=Case((40,), "float32", draw="integers"),
    hints=(
        "The grid is too small for one element each. What should a thread do after its first "
        "element, so that no element is forgotten and none is done twice?",
        "A thread moves on by as many places as there are threads in the whole grid. The others "
        "do the places in between. `cuda.gridsize(1)` is that number.",
        "Python's `range(first, end, step)` counts in steps, and stops before `end`: it is the "
        "guard as well.",
        "`for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):`, and inside "
        "`out[i] = a[i] / 2`.",
    ),
    limits=Limits(call_s=10),
)
