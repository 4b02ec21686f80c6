"""Dot product: many threads, one number, and the shared memory in which they meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
    Scored,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two vectors. However they are grouped, the products of the extremes add up to less than
    half of float32's largest value."""
    extreme = (LARGEST["float32"] / (2 * case.elements)) ** 0.5
    return {
        "a": draw.tensor(case.shape, extreme=extreme),
        "b": draw.tensor(case.shape, extreme=extreme),
    }


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["a"].dot(inputs["b"]).reshape(1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a_i * b_i|: rounding errors scale with the terms, which may cancel."""
    return {"out": inputs["a"].abs().dot(inputs["b"].abs()).reshape(1)}


SPEC = Spec(
    title="Dot product by reduction",
    summary="Sum a product of two vectors with a tree in shared memory, block by block.",
    needs=("p08_grid_stride", "p12_dot"),
    backend="numba",
    entry="dot",
    arguments=(reads("a"), reads("b"), writes("out", shape=(1,), dtype="float32", at_most=None)),
    dtypes=("float32",),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="ties"),
        Case((3,), "float32", draw="integers"),
        Case((31,), "float32", draw="extremes"),
        Case((127,), "float32", draw="constant"),
        Case((128,), "float32", offset=1),
        Case((129,), "float32", draw="denormals"),
        Case((256,), "float32"),
        Case((257,), "float32", draw="integers"),
        Case((1023,), "float32", offset=1),
        Case((1024,), "float32", draw="extremes"),
        Case((1025,), "float32"),
        Case((2048,), "float32", draw="integers"),
        Case((2099,), "float32", draw="ties"),
    ),
    largest=(1_000_000,),
    most_elements=1300,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.elements, magnitude=magnitude, exact=("integers",)),
    pictured=Case((6,), "float32", draw="integers"),
    counted=Case((2099,), "float32"),
    scored=Scored(dtype="float32"),
    # A multiplication and an addition per element.
    flops=lambda case: 2 * case.elements,
    gates=Gates(passing=0.80, great=0.95),
    hints=(
        "Split the work in two. First, each block turns its share of the products into one partial "
        "sum. Then one block, in a second launch, adds up the partial sums.",
        "Let each thread add many products in a variable of its own before it meets the others: "
        "start at `cuda.grid(1)` and go on in steps of `cuda.gridsize(1)`, the number of threads "
        "in the whole grid. A thread that finds nothing to add has the sum 0.",
        "Inside a block: each thread puts its sum into `shared[t]`, then all wait at "
        "`cuda.syncthreads()`. Now halve: the first half of the threads add the element that is "
        "half a block further on, all wait again, and so on until `shared[0]` is left.",
        "`half = THREADS // 2`; while `half > 0`: if `t < half`, then "
        "`shared[t] += shared[t + half]`; after that, outside of the `if`, `cuda.syncthreads()`; "
        "then `half //= 2`.",
        "The host takes `partials = room_for(blocks)`, launches "
        "`dot_partials[blocks, THREADS](a, b, partials)`, then "
        "`sum_partials[1, THREADS](partials, out)`. The second starts when the first has ended.",
    ),
    independent_rows=False,
)
