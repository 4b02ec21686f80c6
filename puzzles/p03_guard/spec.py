"""Guard: more threads than elements, and those that have none must do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] * 2}


SPEC = Spec(
    title="Guard",
    summary="Double every element: more threads than elements.",
    needs=("p02_zip",),
    backend="numba",
    entry="double",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((31,), "float32"),
        Case((33,), "float32", offset=1),
        Case((63,), "float32", draw="integers"),
        Case((64,), "float32"),
    ),
    largest=(64,),
    most_elements=64,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((40,), "float32"),  # 24 of the 64 threads have no element
    # A thread for each element: no thread has room for a second one.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((40,), "float32", draw="integers"),
    hints=(
        "Each thread has a number, even those that are too many. Which numbers have an element?",
        "The places of `a` are 0 to `a.size - 1`. A thread whose number is `a.size` or more must "
        "neither read nor write.",
        "`i = cuda.threadIdx.x`, then `if i < a.size:`, and below it, indented, "
        "`out[i] = a[i] * 2`.",
    ),
    limits=Limits(call_s=10),
)
