"""LayerNorm and GELU: a row is normalised, scaled, shifted and activated in registers."""

from __future__ import annotations

import math
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
    scalar,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

    # A wrong way to normalise, from x - mean, the variance and the inputs.
    Normalise = Callable[[Tensor, Tensor, Inputs], Tensor]

LONGEST = 16_384  # columns: such a row of float32 is a quarter of a multiprocessor's registers

# Rows of whole numbers are shifted by so much: far beside their deviation, of which 1 at most, and
# still exact in each dtype. There E[x²] - E[x]² loses all digits, and x - mean none.
SHIFT = {"float32": (2048.0, 4096.0), "float16": (1024.0, 2000.0), "bfloat16": (64.0, 250.0)}


def inputs(case: Case, draw: Draw) -> Inputs:
    """The largest x are such that a row's sum of squares fits into a float32 four times."""
    columns = case.shape[1]
    largest = math.sqrt(LARGEST["float32"] / (4 * LONGEST))
    x = draw.tensor(case.shape, extreme=min(LARGEST[case.dtype], largest))
    # A quarter of what is drawn: GELU bends between -4 and 4, and beyond it is 0 or h.
    weight = draw.tensor((columns,), extreme=LARGEST[case.dtype] ** 0.45).div_(4)
    bias = draw.tensor((columns,), extreme=LARGEST[case.dtype] / 4).div_(4)
    if case.draw == "integers":
        shift = round(draw.number(*SHIFT[case.dtype]))
        x.add_(shift if draw.truth() else -shift)
    return {"x": x, "weight": weight, "bias": bias, "eps": draw.number(1e-6, 4.0)}


def moments(inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Return x - mean, and the variance of each row with a second axis of 1."""
    x = inputs["x"]
    centred = x - x.mean(-1, keepdim=True)
    return centred, centred.square().mean(-1, keepdim=True)


def layer_norm(inputs: Inputs) -> Tensor:
    """Return what GELU is applied to."""
    centred, variance = moments(inputs)
    return _scaled(inputs, centred * (variance + inputs["eps"]).rsqrt())


def _scaled(inputs: Inputs, normalised: Tensor) -> Tensor:
    return inputs["weight"] * normalised + inputs["bias"]


def gelu(h: Tensor) -> Tensor:
    return 0.5 * h * (1 + (h * math.sqrt(0.5)).erf())


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": gelu(layer_norm(inputs))}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|weight| * (|x| + mean of |x|) / sqrt(var + eps) + |bias|: the terms that h is made of.

    The mean is off by some parts in 2**24 of the mean of |x|, and so is x - mean. The variance is
    off by as many parts of itself, which moves h by no more than the first term. GELU passes an
    error of h on at most 1.13 times; for h < 0 its 1 + erf(h / sqrt(2)) is a difference that is
    off by 2**-24, which makes |h| parts: they are in the terms already.

    A GPU may flush x, weight or their products below 2**-126 to 0: 2**-98 and 2**-102 permit that
    before 1 / sqrt(var + eps), at most 1,000, enlarges the loss.
    """
    x, weight = inputs["x"], inputs["weight"].abs()
    deviation = x.var(-1, correction=0, keepdim=True)
    size = x.abs() + x.abs().mean(-1, keepdim=True) + 2.0**-102
    scaled = weight * size * (deviation + inputs["eps"]).rsqrt()
    return {"out": scaled + inputs["bias"].abs() + 2.0**-98}


def _with(normalised: Normalise, inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": gelu(_scaled(inputs, normalised(*moments(inputs), inputs)))}


def _lanes(x: Tensor) -> int:
    """Return the lanes of a block that holds a row: the next power of two."""
    return 1 << (x.shape[-1] - 1).bit_length()


def _masked_lanes_counted(centred: Tensor, variance: Tensor, inputs: Inputs) -> Tensor:
    """Count 0 - mean, squared, of each masked lane in the variance."""
    x = inputs["x"]
    empty = _lanes(x) - x.shape[-1]
    added = empty * x.mean(-1, keepdim=True).square() / x.shape[-1]
    return centred * (variance + added + inputs["eps"]).rsqrt()


def _over_lanes(inputs: Inputs) -> Mapping[str, Tensor]:
    """Divide both sums by the number of lanes."""
    x, lanes = inputs["x"], _lanes(inputs["x"])
    centred = x - x.sum(-1, keepdim=True) / lanes
    variance = centred.square().sum(-1, keepdim=True) / lanes
    return {"out": gelu(_scaled(inputs, centred * (variance + inputs["eps"]).rsqrt()))}


def _of_a_sample(centred: Tensor, variance: Tensor, inputs: Inputs) -> Tensor:
    columns = inputs["x"].shape[-1]
    return centred * (variance * columns / (columns - 1) + inputs["eps"]).rsqrt()


def _far_from_0(inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark rows whose mean is more than thirty times their deviation."""
    _, variance = moments(inputs)
    mean = inputs["x"].mean(-1, keepdim=True)
    return {"out": (mean.square() > 1000 * variance).expand(inputs["x"].shape)}


NORMALISED: tuple[tuple[str, str, Normalise, tuple[str, ...]], ...] = (
    (
        "masked_lanes",
        "The masked lanes count as deviations. They hold 0, and 0 - mean is not 0: replace it by 0 "
        "with tl.where(inside, x - mean, 0.0) before you square.",
        _masked_lanes_counted,
        (r"^(?!.*where).*= *\w+ - \w*mean\w*$", r" - \w*mean"),
    ),
    (
        "formula",
        "The squares are divided by columns - 1, as those of a sample are. LayerNorm divides by "
        "the number of columns.",
        _of_a_sample,
        (r"- 1\b",),
    ),
    (
        "formula",
        "eps is added to the standard deviation. It belongs below the root: "
        "tl.rsqrt(variance + eps).",
        lambda centred, variance, inputs: centred / (variance.sqrt() + inputs["eps"]),
        (r"sqrt\(",),
    ),
    (
        "formula",
        "eps is missing: each row is divided by the root of variance + eps.",
        lambda centred, variance, inputs: centred * variance.rsqrt(),
        (r"sqrt\(",),
    ),
    (
        "formula",
        "x - mean is divided by the variance: take its root, tl.rsqrt(variance + eps).",
        lambda centred, variance, inputs: centred / (variance + inputs["eps"]),
        (r"/ *\(?\w*var",),
    ),
    (
        "formula",
        "The output is that of RMSNorm or nearly so: x is scaled, and its mean is not subtracted.",
        lambda centred, variance, inputs: inputs["x"] * (variance + inputs["eps"]).rsqrt(),
        (r"sqrt\(",),
    ),
)

# Wrong ways from h to the output, each with the inputs' weight and bias in it.
ACTIVATED: tuple[tuple[str, Callable[[Inputs], Tensor], tuple[str, ...]], ...] = (
    (
        "This is the approximation of GELU by tanh. The task is the exact one, with erf: they "
        "differ by up to 5e-4.",
        lambda inputs: _by_tanh(layer_norm(inputs)),
        (r"tanh\(|sigmoid\(|exp\(",),
    ),
    (
        "This is h * sigmoid(1.702 * h), an approximation of GELU. The task is the exact one, "
        "with erf: they differ by up to 0.02.",
        lambda inputs: layer_norm(inputs) * (1.702 * layer_norm(inputs)).sigmoid(),
        (r"sigmoid\(|exp\(",),
    ),
    (
        "erf gets h. It needs h / sqrt(2): 0.5 * h * (1 + erf(h / sqrt(2))).",
        lambda inputs: 0.5 * layer_norm(inputs) * (1 + layer_norm(inputs).erf()),
        (r"erf\(",),
    ),
    (
        "GELU is missing: the output is what GELU should be applied to.",
        layer_norm,
        (r"store\(",),
    ),
    (
        "GELU comes before the bias: add the bias first, and then apply GELU.",
        lambda inputs: gelu(layer_norm(inputs) - inputs["bias"]) + inputs["bias"],
        (r"\+ *\w*bias|\+ *b\b", r"erf\("),
    ),
    (
        "The weight multiplies the bias, too: multiply first, and then add the bias.",
        lambda inputs: gelu(
            layer_norm(inputs) - inputs["bias"] + inputs["weight"] * inputs["bias"]
        ),
        (r"\+ *\w*bias|\+ *b\b",),
    ),
)


def _by_tanh(h: Tensor) -> Tensor:
    return 0.5 * h * (1 + (math.sqrt(2 / math.pi) * (h + 0.044715 * h * h * h)).tanh())


def _activated(wrong: Callable[[Inputs], Tensor], inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": wrong(inputs)}


MISTAKES = (
    *(
        Mistake(cause=cause, hint=hint, reference=partial(_with, normalised), near=near)
        for cause, hint, normalised, near in NORMALISED
    ),
    Mistake(
        cause="factor",
        hint="Both sums are divided by the number of lanes. Masked lanes are no columns: divide by "
        "`columns`.",
        reference=_over_lanes,
        near=(r"/ *BLOCK|/ *[A-Z]\w*", r"mean"),
    ),
    *(
        Mistake(cause="formula", hint=hint, reference=partial(_activated, wrong), near=near)
        for hint, wrong, near in ACTIVATED
    ),
    Mistake(
        cause="precision",
        hint="Only rows are wrong whose mean is large beside their deviation. There E[x²] - E[x]² "
        "is the small difference of two large numbers, and float32 has lost its digits. Subtract "
        "the mean first: the variance is the mean of (x - mean)².",
        only=_far_from_0,
        near=(r"(\bx \* x\b|square\(|\*\* *2)", r"\w*mean\w* *\* *\w*mean", r"var\w* *="),
    ),
)


SPEC = Spec(
    title="LayerNorm and GELU",
    summary="Normalise, scale, shift and GELU in one pass, over a row that stays in registers.",
    needs=("01_vector_add", "t04_reduction"),
    backend="triton",
    entry="layernorm_gelu",
    arguments=(
        reads("x"),
        reads("weight", at_most=None),
        reads("bias", at_most=None),
        writes("out", like="x"),
        scalar("eps"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    strided=True,
    edges=(
        Case((1, 1), "float32"),
        Case((2, 5), "float32"),
        Case((2, 3), "float16"),
        Case((3, 2), "bfloat16", pad=3),
        Case((5, 7), "float32", draw="integers", pad=3),
        Case((32, 127), "float32", draw="integers"),
        Case((2, 127), "float16", draw="ties"),
        Case((3, 128), "float32", draw="constant"),
        Case((3, 129), "bfloat16", draw="extremes", offset=1),
        Case((2, 1023), "float32", draw="extremes"),
        Case((3, 1024), "float16", draw="denormals"),
        Case((3, 1025), "float32", pad=3, offset=1),
        Case((2, 4097), "bfloat16", draw="integers", pad=1),
        Case((2, 5003), "float16", pad=5),
        Case((66, 129), "float16", draw="integers", pad=3),
        Case((131, 255), "bfloat16", draw="constant"),
        Case((5, 8192), "bfloat16"),
        Case((4_097, 33), "float32", pad=5),
        Case((3, 16_383), "float32", draw="ties", offset=1),
        Case((4, 16_384), "bfloat16", draw="denormals"),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, LONGEST),
    most_elements=2**18,
    inputs=inputs,
    reference=reference,
    # A program of 16 lanes or more adds up no longer chain than of 1,024 terms.
    tolerance=Tolerance(terms=lambda case: min(case.shape[-1], 1024), magnitude=magnitude),
    pictured=Case((2, 6), "float32"),
    counted=Case((3, 5003), "bfloat16", pad=3),
    scored=Scored(dtype="bfloat16", columns=8192),
    # Per element: two for the mean's sum and x - mean, two for the variance, three for h, and five
    # for GELU: product with sqrt(1/2), erf, addition and two products.
    flops=lambda case: 12 * case.elements,
    gates=Gates(passing=0.50, great=0.80),
    hints=(
        "Give each row a program, and the program a block that holds the whole row: its size is "
        "`triton.next_power_of_2(columns)`. Then one `tl.load` brings the row into registers, and "
        "all that follows uses the same `x`.",
        "`mean = tl.sum(x, axis=0) / columns`. The masked lanes were loaded as 0, so they add "
        "nothing here. In the variance they would: 0 - mean is not 0. Set `x - mean` to 0 in them "
        "with `tl.where(inside, x - mean, 0.0)`, and then square and sum.",
        "`h = weight * (x - mean) * tl.rsqrt(variance + eps) + bias`, and GELU is "
        "`0.5 * h * (1 + tl.erf(h * 0.70710678))`. All of it is float32; the store rounds once.",
        "A long row needs more threads than a short one. In the launch, "
        "`num_warps=max(block // 1024, 1)` gives each thread 32 elements.",
    ),
    mistakes=MISTAKES,
)
