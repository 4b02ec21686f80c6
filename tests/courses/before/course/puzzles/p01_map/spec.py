"""Map: the same small piece of work for every element, one thread each."""

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
    title="Map",
    summary="Add 10 to every element: one thread for each.",
    backend="numba",
    entry="add_ten",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((31,), "float32"),
        Case((32,), "float32", offset=1),
        Case((33,), "float32", draw="integers"),
        Case((128,), "float32"),
    ),
    largest=(128,),
    most_elements=128,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((64,), "float32"),
    # A thread for each element: no thread has room for a second one.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((8,), "float32", draw="integers"),
    hints=(
        "A kernel is a function that many threads run at once. Each has a number of its own, and "
        "with it picks the one element that is its work.",
        "`cuda.threadIdx.x` is the thread's number in its block: 0, 1, 2 and so on.",
        "`i = cuda.threadIdx.x`, then `out[i] = a[i] + 10`. Nothing is returned: a kernel leaves "
        "its answer in an array.",
    ),
    limits=Limits(call_s=10),
)
