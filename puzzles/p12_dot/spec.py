"""Dot product: many threads, one number, and a tree in which they find it together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape), "b": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"].dot(inputs["b"]).reshape(1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a_i * b_i|: rounding errors scale with the terms, which may cancel."""
    return {"out": inputs["a"].abs().dot(inputs["b"].abs()).reshape(1)}


SPEC = Spec(
    title="Dot product",
    summary="Add up the products of two arrays: the threads of one block, in a tree.",
    needs=("p10_shared",),
    backend="numba",
    entry="dot",
    arguments=(reads("a"), reads("b"), writes("out", shape=(1,), dtype="float32")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # Each halving of 64 has its edges.
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((5,), "float32"),
        Case((32,), "float32", offset=1),
        Case((33,), "float32"),
        Case((47,), "float32", draw="integers"),
        Case((63,), "float32"),
        Case((64,), "float32"),
    ),
    largest=(64,),
    most_elements=64,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.elements, magnitude=magnitude, exact=("integers",)),
    counted=Case((59,), "float32"),
    budgets=(
        # An element of each array; two of each where half as many threads begin with a sum.
        Budget("global_reads", most=4, best=2),
        Budget("shared_reads", most=14, best=6),
    ),
    pictured=Case((16,), "float32", draw="integers"),
    independent_rows=False,
    hints=(
        "First every thread puts one product into `shared`, or a 0 if it has no element. Then all "
        "wait.",
        "Now the first half of the threads each add the element that is half the block further "
        "on. Half as many numbers are left. Wait, halve, and do it again, until one is left.",
        "`half = THREADS // 2`, then `while half > 0`. In the loop: if `t < half`, "
        "`shared[t] += shared[t + half]`.",
        "Still in the loop, but outside of the `if`: `cuda.syncthreads()`, then `half //= 2`. "
        "After the loop thread 0 writes `out[0] = shared[0]`.",
    ),
    limits=Limits(call_s=10),
)
