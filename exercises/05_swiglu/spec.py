"""SwiGLU: out = silu(gate) * up, several elementwise steps in one pass over memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two matrices. silu(gate) is at most |gate|, so the product of two extremes stays finite."""
    extreme = LARGEST[case.dtype] ** 0.45
    return {
        "gate": draw.tensor(case.shape, extreme=extreme),
        "up": draw.tensor(case.shape, extreme=extreme),
    }


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["gate"] * inputs["gate"].sigmoid() * inputs["up"]}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|out|, widened for negative gates, where it is an exponential with a large argument.

    For gate < 0 silu(gate) is about gate * exp(gate), and rounding the argument of the exponential
    twice changes it by a relative error of up to 1.3 * |gate| * 2**-24. The limit is 8 * 2**-24
    times the magnitude: a quarter of |gate| in it permits 2 * |gate| * 2**-24.
    Below gate = -88.7 exp(-gate) is larger than float32 can hold, so that an honest kernel answers
    0 where the true value is up to 2**-121 * |up|: 2**-102 in the magnitude permits more than that.

    Libraries also write silu(gate) as gate/2 * (1 + tanh(gate/2)). For gate < 0 the sum is a
    multiple of 2**-24 and off by two of them at most: |gate| / 8 permits that, which is
    |gate| * 2**-24 * |up|. It is more than a silu(gate) in float16, as torch and Liger-Kernel have
    it, loses as a subnormal.
    """
    gate, up = inputs["gate"], inputs["up"]
    silu = gate * gate.sigmoid()
    condition = 1 + (-gate).clamp(0, 128) / 4  # past -128 there is only 0
    by_tanh = (-gate).clamp(min=0) / 8
    return {"out": ((silu.abs() + 2.0**-102) * condition + by_tanh) * up.abs()}


MISTAKES = (
    Mistake(
        cause="formula",
        hint="This is sigmoid(gate) * up: silu(gate) is gate * sigmoid(gate).",
        reference=lambda inputs: {"out": inputs["gate"].sigmoid() * inputs["up"]},
        near=(r"exp\(|sigmoid\(",),
    ),
    Mistake(
        cause="formula",
        hint="The sign in the exponential is turned round: silu(gate) is gate / (1 + exp(-gate)), "
        "with a minus.",
        reference=lambda inputs: {
            "out": inputs["gate"] * (-inputs["gate"]).sigmoid() * inputs["up"]
        },
        near=(r"exp\(|sigmoid\(",),
    ),
    Mistake(
        cause="never_read",
        hint="The output is silu(gate) alone: where is it multiplied by up?",
        reference=lambda inputs: {"out": inputs["gate"] * inputs["gate"].sigmoid()},
        near=(r"store\(",),
    ),
)


SPEC = Spec(
    title="SwiGLU",
    summary="Fuse an activation and a product, so that nothing in between goes to memory.",
    needs=("01_vector_add",),
    backend="triton",
    entry="swiglu",
    arguments=(reads("gate"), reads("up"), writes("out", like="gate")),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "bfloat16", pad=3),
        Case((3, 1), "float16"),
        Case((2, 13), "float32", draw="denormals", pad=3),
        Case((5, 127), "bfloat16", draw="extremes", pad=1),
        Case((3, 128), "float16", draw="ties"),
        Case((2, 129), "float32", pad=7, offset=1),
        Case((1, 1023), "float16", draw="extremes"),
        Case((2, 1024), "bfloat16", draw="constant"),
        Case((2, 1025), "float32", draw="extremes", pad=3),
        Case((17, 257), "bfloat16", offset=1),
        Case((3, 2048), "float32", pad=16),
        Case((2, 2049), "float16", pad=3, offset=1),
        Case((2, 5003), "bfloat16"),
        Case((1, 14336), "bfloat16", draw="denormals"),
        Case((66, 1_000), "float32", draw="constant", pad=1),
        Case((33, 4_097), "float16", draw="ties", offset=1),
        Case((4_097, 67), "bfloat16", pad=5),
        Case((2, 131_075), "float32"),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, 131_072),
    most_elements=2**19,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, magnitude=magnitude),
    pictured=Case((2, 6), "float32"),
    counted=Case((3, 5003), "bfloat16", pad=3),
    scored=Scored(dtype="bfloat16", columns=14336),
    # Per element of gate / (1 + exp(-gate)) * up: negation, exp, addition, division, product.
    flops=lambda case: 5 * case.elements,
    gates=Gates(passing=0.80, great=0.97),
    hints=(
        "Each output depends on one element of gate and one of up. Load both, do all of the "
        "arithmetic on the loaded values, and store once: nothing in between needs memory.",
        "`silu(g) = g * sigmoid(g) = g / (1 + exp(-g))`. Convert the loaded values to float32 "
        "first. For a very negative g, exp(-g) becomes infinite and the quotient 0: that is right. "
        "exp(g) / (1 + exp(g)) would be infinite over infinite for a large g: that is not.",
        "Launch a two-dimensional grid: axis 0 for the row, axis 1 for the block of columns in "
        "that row. Only the columns need a mask.",
        "Element (row, column) of a tensor lies at `row * stride(0) + column`, and each of the "
        "three tensors has its own stride: "
        "`tl.load(gate_ptr + row * gate_stride + columns, mask=inside)`.",
    ),
    strided=True,
    mistakes=MISTAKES,
)
