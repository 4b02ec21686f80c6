"""Shared memory: the threads of a block give each other what they have read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

THREADS = 8  # in a block: part of the task, for it says what is mirrored in what


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def turned(values: Tensor) -> Tensor:
    """The values with each group of THREADS of them turned round."""
    out = values.clone()
    for start in range(0, values.shape[0], THREADS):
        out[start : start + THREADS] = values[start : start + THREADS].flip(0)
    return out


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"] - turned(inputs["a"])}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of both sizes: the difference of two numbers that are alike is small."""
    return {"out": inputs["a"].abs() + turned(inputs["a"]).abs()}


SPEC = Spec(
    title="Shared memory",
    summary="Subtract from every element the mirrored one of its block; read each only once.",
    needs=("p06_blocks",),
    backend="numba",
    entry="mirror",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((7,), "float32"),
        Case((8,), "float32", offset=1),
        Case((9,), "float32"),
        Case((16,), "float32"),
        Case((61,), "float32", draw="integers"),
        Case((130,), "float32"),
    ),
    largest=(200,),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 2, magnitude=magnitude, exact=("integers",)),
    counted=Case((92,), "float32"),
    # A thread for each element: its partner's comes from shared memory.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((20,), "float32", draw="integers"),
    hints=(
        "There are two parts. First every thread reads its own element of `a` and puts it where "
        "the others can see it. Then every thread looks at two elements of `shared`.",
        "Between the two parts all threads must wait for each other: `cuda.syncthreads()`. Call it "
        "outside of every `if`, so that all threads of the block come to it.",
        "The element of thread t lies at `shared[t]`, and the mirrored one at "
        "`shared[count - 1 - t]`: for t = 0 that is the last one.",
        "If `t < count`: `shared[t] = a[start + t]`. Then `cuda.syncthreads()`. Then, again if "
        "`t < count`: `out[start + t] = shared[t] - shared[count - 1 - t]`.",
    ),
    limits=Limits(call_s=10),
)
