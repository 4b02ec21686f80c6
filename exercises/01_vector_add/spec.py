"""Vector add: out = x + y, the smallest kernel that has every part of a larger one."""

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
    """Two vectors. Half of the largest value each, so that no sum overflows."""
    extreme = LARGEST[case.dtype] / 2
    return {
        "x": draw.tensor(case.shape, extreme=extreme),
        "y": draw.tensor(case.shape, extreme=extreme),
    }


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"] + inputs["y"]}


SPEC = Spec(
    title="Vector add",
    summary="A first kernel: cut a vector into blocks, and give each block to one program.",
    needs=("t02_masks", "t06_launch"),
    backend="triton",
    also_in=("cuda",),
    entry="vector_add",
    arguments=(reads("x"), reads("y"), writes("out", like="x")),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float16"),
        Case((3,), "bfloat16"),
        Case((13,), "float32", draw="denormals"),
        Case((127,), "float16", draw="extremes"),
        Case((128,), "bfloat16", draw="integers"),
        Case((129,), "float32", draw="ties", offset=1),
        Case((1023,), "bfloat16", draw="extremes"),
        Case((1024,), "float32"),
        Case((1025,), "float16", offset=1),
        Case((1025,), "float32", draw="extremes"),
        Case((2048,), "bfloat16", draw="denormals", offset=1),
        Case((4099,), "float16", draw="constant"),
        Case((10007,), "float32", draw="integers"),
        Case((30011,), "bfloat16"),
        Case((32_768,), "float16", draw="constant"),
        Case((65_537,), "float16", draw="ties", offset=1),
        Case((262_147,), "bfloat16", draw="extremes"),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**20,
    inputs=inputs,
    reference=reference,
    # One addition rounds once: a sum that is truncated, or rounded twice, is not the nearest one.
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",), rounded_once=True),
    pictured=Case((1030,), "float32", draw="integers"),
    counted=Case((5003,), "float32"),
    scored=Scored(dtype="float32"),
    # One addition per element.
    flops=lambda case: case.elements,
    gates=Gates(passing=0.85, great=0.97),
    hints=(
        "Begin with one program. `tl.program_id(0)` is its number, and `tl.arange(0, BLOCK)` is "
        "the vector 0, 1, ..., BLOCK - 1. Which elements belong to program 0? Which to program 1?",
        "Program `p` owns the elements `p * BLOCK` to `p * BLOCK + BLOCK - 1`. A pointer plus a "
        "vector of offsets is a vector of addresses: `tl.load(x_ptr + offsets)` reads a block.",
        "The last block can stick out past the end of the vector. Compare the offsets with `n`, "
        "and give the result as `mask=` to both loads and to the store.",
        "The host launches `triton.cdiv(n, BLOCK)` programs, which is n / BLOCK rounded up: "
        "`add_kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)`.",
    ),
)
