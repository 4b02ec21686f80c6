"""Convolution with a halo: a window that reaches over the edge of the block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

WIDTH = 4  # weights: part of the task


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape), "weights": draw.tensor((WIDTH,))}


def convolved(a: Tensor, weights: Tensor) -> Tensor:
    """The sum of weights[k] * a[i + k] at each i, where elements beyond the end count as 0."""
    out = a * weights[0]
    for k in range(1, WIDTH):
        out[:-k] += a[k:] * weights[k]
    return out


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": convolved(inputs["a"], inputs["weights"])}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |weights[k] * a[i + k]|: terms may cancel, their rounding errors do not."""
    return {"out": convolved(inputs["a"].abs(), inputs["weights"].abs())}


SPEC = Spec(
    title="Convolution with a halo",
    summary="A weighted sum of four neighbours at each place, across the edges of blocks.",
    needs=("p11_pooling",),
    backend="numba",
    entry="convolve",
    # Of each block, the halo is read by the next one as well; the weights by every thread.
    arguments=(reads("a", at_most=2), reads("weights", at_most=None), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # A block has 16 elements, and its halo 3.
    edges=(
        Case((1,), "float32"),
        Case((3,), "float32", draw="integers"),
        Case((4,), "float32"),
        Case((15,), "float32"),
        Case((16,), "float32", offset=1),
        Case((17,), "float32"),
        Case((19,), "float32", draw="integers"),
        Case((20,), "float32"),
        Case((33,), "float32"),
        Case((261,), "float32"),
    ),
    largest=(261,),
    most_elements=261,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: WIDTH, magnitude=magnitude, exact=("integers",)),
    counted=Case((141,), "float32"),
    # Two places in the threads that fill two, and the 4 weights; one thread may bring the whole
    # halo of 3 beside its own element. Alone it would bring all 19 places.
    budgets=(Budget("global_reads", most=2 * WIDTH, best=2 + WIDTH),),
    pictured=Case((36,), "float32", draw="integers"),
    hints=(
        "The last thread of a block needs three elements that belong to the next block. So the "
        "block reads those as well: in all `TILE` = 16 + 3 elements, with 16 threads.",
        "Let each thread fill place t, and then place t + THREADS if there is one: "
        "`for place in range(t, TILE, THREADS)`. Only threads 0, 1 and 2 have a second place.",
        "The place holds `a[start + place]`. Where that lies beyond the end of `a`, put a 0 there, "
        "which adds nothing to a sum.",
        "In the loop: if `start + place < a.size`, then `shared[place] = a[start + place]`, else "
        "`shared[place] = 0`. After the loop, outside of every `if`: `cuda.syncthreads()`.",
    ),
    limits=Limits(call_s=10),
)
