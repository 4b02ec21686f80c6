"""Masks: blocks of 64 elements, and a vector whose length is no multiple of 64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"x": draw.tensor(case.shape)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].relu()}


SPEC = Spec(
    title="Masks",
    summary="Negative elements become 0: the last block reaches past the end of the vector.",
    needs=("t01_programs",),
    backend="triton",
    entry="relu",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((5,), "float32", draw="integers"),
        Case((63,), "float32"),
        Case((64,), "float32", draw="integers"),
        Case((65,), "float32", offset=1),
        Case((128,), "float32"),
        Case((129,), "float32", draw="integers"),
        Case((1000,), "float32"),
        Case((4095,), "float32"),
    ),
    largest=(1000,),
    most_elements=1000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("rows", "integers")),
    counted=Case((1000,), "float32"),
    # 1,000 elements fill 15 blocks of 64, and 40 lanes of one more.
    budgets=(
        Budget("programs", most=16, best=16),
        Budget("loads", most=1, best=1),
        Budget("stores", most=1, best=1),
    ),
    pictured=Case((70,), "float32", draw="integers"),
    hints=(
        "Program 0 has the elements 0 to 63, program 1 those from 64 to 127. Where does program p "
        "begin?",
        "`offsets = tl.program_id(0) * 64 + tl.arange(0, 64)` are the 64 places of this program. "
        "Those below `n` exist: `inside = offsets < n`.",
        "`tl.load(x_ptr + offsets, mask=inside)` reads the places that exist, and "
        "`tl.maximum(x, 0.0)` compares lane by lane. The store needs the same mask.",
        "The number of programs is n ÷ 64, rounded up: `return triton.cdiv(n, 64)`.",
    ),
    limits=Limits(call_s=10),
)
