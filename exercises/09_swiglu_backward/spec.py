"""SwiGLU backward: both gradients of silu(gate) * up, with the sigmoid computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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

    Outputs = Mapping[str, Tensor]


def inputs(case: Case, draw: Draw) -> Inputs:
    """Three matrices. The product of two extremes stays finite, and no output has more of them."""
    extreme = LARGEST[case.dtype] ** 0.45
    return {name: draw.tensor(case.shape, extreme=extreme) for name in ("dout", "gate", "up")}


def slope(gate: Tensor) -> Tensor:
    """Return the derivative of silu."""
    sigmoid = gate.sigmoid()
    return sigmoid * (1 + gate * (1 - sigmoid))


def silu(gate: Tensor) -> Tensor:
    return gate * gate.sigmoid()


def reference(inputs: Inputs) -> Outputs:
    dout, gate = inputs["dout"], inputs["gate"]
    return {"dgate": dout * inputs["up"] * slope(gate), "dup": dout * silu(gate)}


def magnitude(inputs: Inputs, expected: Outputs) -> Outputs:
    """The terms of each gradient without their signs, widened by the condition of the sigmoid.

    silu'(gate) is sigmoid + gate * sigmoid * (1 - sigmoid). Near gate = -1.28 the two cancel, and
    their rounding errors do not. The limit is 8 * 2**-24 times the magnitude.

    For gate < 0 the sigmoid is about exp(gate): rounding its argument twice changes it by up to
    1.3 * |gate| * 2**-24, and a quarter of |gate| permits 2 * |gate| * 2**-24. For gate > 0 the
    difference 1 - sigmoid has an error of two parts in 2**24 of 1, and gate multiplies it: a
    quarter of gate permits that. From gate = 17.4 on the sigmoid is 1 in float32, and the
    difference 0.
    Below gate = -88.7 exp(-gate) is larger than float32 can hold, so that an honest kernel answers
    0 where the sigmoid is up to 2**-128 and |gate| times that up to 2**-121: 2**-102 permits more.

    Libraries also write the sigmoid as (1 + tanh(gate/2)) / 2. For gate < 0 it is off by 2**-24 at
    most, and what it multiplies is 1 + |gate| at most: an eighth of that permits it. From
    gate = -18.1 on that sigmoid is 0.
    """
    dout, gate, up = inputs["dout"], inputs["gate"], inputs["up"]
    sigmoid = gate.sigmoid()
    condition = 1 + gate.clamp(-128, 20).abs() / 4
    by_tanh = (1 + gate.abs()).clamp(max=20) / 8 * (gate < 0)
    terms = sigmoid * (1 + gate.abs() * (1 - sigmoid)) + 2.0**-102
    return {
        "dgate": (terms * condition + by_tanh) * (dout * up).abs(),
        "dup": ((silu(gate).abs() + 2.0**-102) * condition + by_tanh) * dout.abs(),
    }


def _dgate(wrong: Callable[[Tensor], Tensor], inputs: Inputs) -> Outputs:
    """Return dgate with another function of gate in place of the slope of silu."""
    return {"dgate": inputs["dout"] * inputs["up"] * wrong(inputs["gate"])}


def _too_large(inputs: Inputs) -> Outputs:
    """Mark dgates of which all factors but the sigmoid overflow float32 together."""
    dout, gate, up = (inputs[name].double() for name in ("dout", "gate", "up"))
    others = (dout * up * gate).abs()
    return {"dgate": (gate < -80) & (others > LARGEST["float32"])}


def _nearly_flat(inputs: Inputs) -> Outputs:
    """Mark dgates at which the terms of the slope nearly cancel."""
    gate = inputs["gate"].double()
    sigmoid = gate.sigmoid()
    terms = sigmoid * (1 + gate.abs() * (1 - sigmoid))
    return {"dgate": slope(gate).abs() < terms / 4}


# Where the derivative may get its name. Else the line counts that computes what is stored.
SLOPE = (r"(slope|d_?silu|d_?sig\w*|deriv\w*|prime) *=",)

# Wrong slopes, of which dgate is dout * up times as much.
SLOPES: tuple[tuple[str, str, Callable[[Tensor], Tensor], tuple[str, ...]], ...] = (
    (
        "formula",
        "dgate is dout * up * sigmoid: half of the product rule. gate * sigmoid(gate) changes by "
        "its second factor, too: add gate * sigmoid * (1 - sigmoid).",
        lambda gate: gate.sigmoid(),
        SLOPE,
    ),
    (
        "formula",
        "dgate lacks half of the product rule: gate * sigmoid(gate) changes by its first factor, "
        "too. Add sigmoid to gate * sigmoid * (1 - sigmoid).",
        lambda gate: gate * gate.sigmoid() * (1 - gate.sigmoid()),
        (r"1(\.0)? - ",),
    ),
    (
        "formula",
        "The slope is that of the sigmoid, sigmoid * (1 - sigmoid). silu is gate * sigmoid: take "
        "the product rule.",
        lambda gate: gate.sigmoid() * (1 - gate.sigmoid()),
        (r"1(\.0)? - ",),
    ),
    (
        "formula",
        "dgate is dout * up * silu(gate): silu itself stands where its derivative belongs.",
        silu,
        SLOPE,
    ),
    (
        "formula",
        "The second term has sigmoid for 1 - sigmoid: the derivative of sigmoid is "
        "sigmoid * (1 - sigmoid).",
        lambda gate: gate.sigmoid() * (1 + gate * gate.sigmoid()),
        (r"1(\.0)? \+ \w*(gate|g|x)\b", r"\+.*sig"),
    ),
    (
        "sign",
        "The second term has the wrong sign: the slope is sigmoid * (1 + gate * (1 - sigmoid)).",
        lambda gate: gate.sigmoid() * (1 - gate * (1 - gate.sigmoid())),
        (r"1(\.0)? - ",),
    ),
    (
        "formula",
        "silu'(gate) is sigmoid * (1 + gate * (1 - sigmoid)): the factor gate is missing.",
        lambda gate: gate.sigmoid() * (2 - gate.sigmoid()),
        (r"1(\.0)? - ",),
    ),
)

# Other wrong outputs: each function returns those that it makes wrong.
OUTPUTS: tuple[tuple[str, str, Callable[[Inputs], Outputs], tuple[str, ...]], ...] = (
    (
        "swapped_arguments",
        "The gradients are exchanged: dgate holds that of up, and dup that of gate.",
        lambda inputs: {
            "dgate": reference(inputs)["dup"],
            "dup": reference(inputs)["dgate"],
        },
        (r"store\(",),
    ),
    (
        "formula",
        "dup is dout * sigmoid(gate): up is multiplied by silu(gate), which is gate * sigmoid.",
        lambda inputs: {"dup": inputs["dout"] * inputs["gate"].sigmoid()},
        (),
    ),
    (
        "formula",
        "dup is dout * gate: the sigmoid is missing. up is multiplied by silu(gate), which is "
        "gate * sigmoid(gate).",
        lambda inputs: {"dup": inputs["dout"] * inputs["gate"]},
        (),
    ),
    (
        "formula",
        "dup is multiplied by up. The output is linear in up, so its derivative is silu(gate) "
        "alone.",
        lambda inputs: {"dup": inputs["dout"] * silu(inputs["gate"]) * inputs["up"]},
        (),
    ),
    (
        "formula",
        "dup is dout * silu'(gate): the slope belongs in dgate, and silu(gate) in dup.",
        lambda inputs: {"dup": inputs["dout"] * slope(inputs["gate"])},
        (),
    ),
    (
        "never_read",
        "dup is silu(gate) alone: where does dout multiply it?",
        lambda inputs: {"dup": silu(inputs["gate"])},
        (),
    ),
    (
        "never_read",
        "dgate is dout * silu'(gate): where does up multiply it?",
        lambda inputs: {"dgate": inputs["dout"] * slope(inputs["gate"])},
        (),
    ),
    (
        "never_read",
        "dgate is up * silu'(gate): where does dout multiply it?",
        lambda inputs: {"dgate": inputs["up"] * slope(inputs["gate"])},
        (),
    ),
)

MISTAKES = (
    *(
        Mistake(cause=cause, hint=hint, reference=partial(_dgate, wrong), near=near)
        for cause, hint, wrong, near in SLOPES
    ),
    *(
        Mistake(cause=cause, hint=hint, reference=wrong, near=near)
        for cause, hint, wrong, near in OUTPUTS
    ),
    Mistake(
        cause="sign",
        hint="The sign in the exponential is turned round: the sigmoid is 1 / (1 + exp(-gate)), "
        "with a minus.",
        reference=lambda inputs: {
            "dgate": inputs["dout"]
            * inputs["up"]
            * (-inputs["gate"]).sigmoid()
            * (1 + inputs["gate"] * inputs["gate"].sigmoid()),
            "dup": inputs["dout"] * inputs["gate"] * (-inputs["gate"]).sigmoid(),
        },
        near=(r"exp\(|sigmoid\(",),
    ),
    Mistake(
        cause="overflow",
        hint="Only dgates are wrong of which dout * up * (1 + gate * (1 - sigmoid)) is infinite in "
        "float32, and the sigmoid 0: infinity times 0 is NaN. Multiply by the sigmoid first.",
        only=_too_large,
        near=(r"\* *\w*sig\w*(,|\)?$)", r"1(\.0)? - "),
    ),
    Mistake(
        cause="overflow",
        hint="Only dgates of gates below -88 are wrong. There exp(-gate) is infinite and the "
        "sigmoid 0: infinity times 0 is NaN, and so is infinity over infinity. Take 1 - sigmoid "
        "for exp(-gate) * sigmoid.",
        only=lambda inputs: {"dgate": inputs["gate"] < -88},
        near=(r"\be\w* *[*/]|[*/] *e\w*\b",),
    ),
    Mistake(
        cause="precision",
        hint="Only dgates of large positive gates are wrong. There silu + sigmoid * (1 - silu) is "
        "the small difference of two large numbers, and float32 has lost its digits. "
        "sigmoid * (1 + gate * (1 - sigmoid)) adds no large numbers.",
        only=lambda inputs: {"dgate": inputs["gate"] > 2},
        near=(r"1(\.0)? - \w*(silu|swish|\bs\b|act)", r"dgate|slope"),
    ),
    Mistake(
        cause="precision",
        hint="Only dgates are wrong at which the two terms of the slope nearly cancel, around "
        "gate = -1.28: an intermediate has fewer digits than float32. Convert what you load with "
        ".to(tl.float32), and round once, in the store.",
        only=_nearly_flat,
        near=(r"\.to\((?!tl\.(float32|int64))|float16", r"1(\.0)? - "),
    ),
)


SPEC = Spec(
    title="SwiGLU backward",
    summary="Compute the sigmoid again in the backward pass: saving it would move more bytes.",
    needs=("05_swiglu",),
    backend="triton",
    entry="swiglu_backward",
    arguments=(
        reads("dout"),
        reads("gate"),
        reads("up"),
        writes("dgate", like="gate"),
        writes("dup", like="up"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "bfloat16", pad=3),
        Case((3, 1), "float16"),
        Case((2, 13), "float32", draw="ties", pad=3),
        Case((5, 127), "bfloat16", draw="extremes", pad=1),
        Case((3, 128), "float16", draw="ties"),
        Case((2, 129), "float32", pad=7, offset=1),
        Case((2, 257), "float32", draw="denormals", pad=3),
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
    # Of the sigmoid 4 per element: negation, exp, addition, division. Of the slope 4: 1 - sigmoid,
    # * gate, 1 +, * sigmoid. And 4 products: gate * sigmoid, * dout; dout * up, * slope.
    flops=lambda case: 12 * case.elements,
    gates=Gates(passing=0.80, great=0.95),
    hints=(
        "Both gradients at one place depend on one element of dout, of gate and of up. Load the "
        "three, do all of the arithmetic on the loaded values, and store twice.",
        "Compute `s = 1 / (1 + exp(-g))` once, in float32. silu(g) is g * s. By the product rule, "
        "its derivative is s + g * s * (1 - s), where s is a common factor. The same s serves both "
        "gradients.",
        "Multiply by s before you multiply by anything large. For g = -1e17, s is 0 and "
        "1 + g * (1 - s) is -1e17: their product is 0. With dout and up multiplied first, it is "
        "infinity times 0, which is NaN.",
        "The grid is that of exercise 05: axis 0 for the row, axis 1 for the block of columns. "
        "Each of the five tensors has its own row stride: "
        "`tl.store(dup_ptr + row * dup_stride + columns, ..., mask=inside)`.",
    ),
    strided=True,
    mistakes=MISTAKES,
)
