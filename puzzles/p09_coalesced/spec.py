"""Coalesced: the same answer with fewer trips to memory, because neighbours read neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": -inputs["a"]}


SPEC = Spec(
    title="Coalesced",
    summary="Change the sign of every element, with as few trips to memory as there can be.",
    needs=("p08_grid_stride",),
    backend="numba",
    entry="negate",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # A block of the stub has 256 elements, and a step of a warp 32.
    edges=(
        Case((1,), "float32"),
        Case((7,), "float32", draw="integers"),
        Case((32,), "float32"),
        Case((33,), "float32", draw="integers"),
        Case((255,), "float32", offset=1),
        Case((256,), "float32"),
        Case((257,), "float32", draw="integers"),
        Case((600,), "float32"),
    ),
    largest=(600,),
    most_elements=600,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    counted=Case((500,), "float32"),
    budgets=(Budget("transactions", most=126, best=126),),
    pictured=Case((64,), "float32", draw="integers"),
    hints=(
        "Look at one step of all the threads, not at all the steps of one thread: in a step, the "
        "32 threads of the warp should work on 32 elements that lie side by side.",
        "In step 0 thread t has element `start + t`. In step 1 all of them move on together. By "
        "how many elements?",
        "`for step in range(EACH)`: `i = start + step * THREADS + t`. If `i < a.size`, then "
        "`out[i] = -a[i]`.",
    ),
    limits=Limits(call_s=10),
)
