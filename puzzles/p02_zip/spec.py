"""Zip: elements of two arrays that stand at the same place, one thread for each pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape), "b": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] - inputs["b"]}


SPEC = Spec(
    title="Zip",
    summary="Subtract two arrays: one thread for each pair of elements.",
    needs=("p01_map",),
    backend="numba",
    entry="subtract",
    arguments=(reads("a"), reads("b"), writes("out", like="a")),
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
    # A thread for each pair: one element of a, one of b, and the answer.
    budgets=(Budget("global_reads", most=2, best=2), Budget("global_writes", most=1, best=1)),
    pictured=Case((8,), "float32", draw="integers"),
    hints=(
        "As in the first puzzle, a thread's number picks its element. A thread is free to use it "
        "in more than one array.",
        "Thread i needs two elements, one of `a` and one of `b`. Both are at place i.",
        "`i = cuda.threadIdx.x`, then `out[i] = a[i] - b[i]`.",
    ),
    limits=Limits(call_s=10),
)
