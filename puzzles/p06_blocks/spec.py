"""Blocks: more elements than a block has threads, so that many blocks share the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    a = inputs["a"]
    return {"out": a + a.new_ones(a.shape).cumsum(0) - 1}


def sizes(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|a| + place: the two may cancel, the rounding of the sum does not shrink with them."""
    a = inputs["a"].abs()
    return {"out": a + a.new_ones(a.shape).cumsum(0) - 1}


SPEC = Spec(
    title="Blocks",
    summary="Add its place to every element: more elements than a block has threads.",
    needs=("p03_guard",),
    backend="numba",
    entry="add_place",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((31,), "float32"),
        Case((32,), "float32", draw="integers"),
        Case((33,), "float32", offset=1),
        Case((64,), "float32"),
        Case((97,), "float32", draw="integers"),
        Case((200,), "float32"),
        Case((1700,), "float32"),  # 54 blocks: more than a block has threads
    ),
    largest=(200,),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, magnitude=sizes, exact=("integers",)),
    counted=Case((100,), "float32"),
    # A thread for each element: no thread has room for a second one.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=1, best=1)),
    pictured=Case((40,), "float32", draw="integers"),
    hints=(
        "The threads of every block count from 0 again. So a thread needs to know how many "
        "threads there are in all the blocks before its own.",
        "Before block number `cuda.blockIdx.x` there are just as many blocks, because blocks count "
        "from 0. Each of them has `cuda.blockDim.x` threads.",
        "`i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x`, then a guard, as in puzzle "
        "03: the last block has threads without an element.",
        "The number of blocks is elements ÷ THREADS, rounded up. Python's `//` rounds down: add "
        "`THREADS - 1` before you divide.",
        "`return (elements + THREADS - 1) // THREADS`. In the kernel, inside of the guard: "
        "`out[i] = a[i] + i`.",
    ),
    limits=Limits(call_s=10),
)
