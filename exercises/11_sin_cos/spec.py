"""Sine and cosine: two outputs of one input, by one kernel that reads it once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from grader.spec import (
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

    Wrong = Callable[[Tensor], tuple[Tensor, Tensor]]

# The largest |x|. An angle of x radians is reduced to a quarter turn with x - k * π/2, and here k
# is 5,215 at most. In this range tl.sin, tl.cos, torch and a reduction with π/2 in three float32
# parts agree to float32's accuracy. libdevice does the same up to 105,615, and beyond it multiplies
# by 192 bits of 2/π, in a branch that is no part of this lesson. Positions in a context of 8,192
# tokens, whose sines and cosines a rotary embedding needs, are such numbers.
LARGEST_ANGLE = 8192.0

# Draws of small numbers, which are multiplied by a power of two: so every range of x is tried.
SCALED = ("ties", "constant", "integers")
SCALES = 10


def inputs(case: Case, draw: Draw) -> Inputs:
    """Angles of up to LARGEST_ANGLE radians, of each size."""
    x = draw.tensor(case.shape, extreme=LARGEST_ANGLE)
    if case.draw in SCALED:
        x.mul_(2 ** draw.integer(0, SCALES))  # exact; 8 * 2**10 is the largest
    return {"x": x}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"sin_out": inputs["x"].sin(), "cos_out": inputs["x"].cos()}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """1, the length of the pointer whose coordinates cos and sin are; for the sine |x| if less.

    Where cos is small, x lies near an odd multiple of π/2, and the reduction leaves an error in
    parts of the quarter turn. The limit of 8 * 2**-24 for both permits honest formulas, such as
    those with tan(x / 2). An error of |x| * 2**-24, which one constant for 2π leaves, exceeds it.
    The sine of a small x is x, to all digits.
    """
    x = inputs["x"]
    return {"sin_out": x.abs().clamp(max=1.0), "cos_out": x.new_ones(x.shape)}


def _outputs(wrong: Wrong, inputs: Inputs) -> Mapping[str, Tensor]:
    sin, cos = wrong(inputs["x"])
    return {"sin_out": sin, "cos_out": cos}


def _marked(marked: Callable[[Tensor], Tensor], inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark elements of both outputs."""
    return dict.fromkeys(("sin_out", "cos_out"), marked(inputs["x"]))


def _root_goes_wrong(inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark cosines that sqrt(1 - sin²) gets wrong: negative ones, and small ones by rounding."""
    return {"cos_out": inputs["x"].cos() < 0.25}


def _quarter(x: Tensor) -> Tensor:
    """Return which quarter turn is nearest to x, from 0 to 3."""
    return (x * (2 / math.pi)).round() % 4


FORMULAS: tuple[tuple[str, str, Wrong, tuple[str, ...]], ...] = (
    (
        "swapped_arguments",
        "The outputs are exchanged: sin_out gets the cosine, and cos_out the sine.",
        lambda x: (x.cos(), x.sin()),
        (r"store\(",),
    ),
    (
        "sign",
        "The sine is that of |x|: sin(-x) is -sin(x).",
        lambda x: (x.abs().sin(), x.cos()),
        (r"abs\(", r"where\("),
    ),
    (
        "formula",
        "x is taken for degrees. It is in radians: leave out the factor π / 180.",
        lambda x: ((x * (math.pi / 180)).sin(), (x * (math.pi / 180)).cos()),
        (r"180|0\.0174",),
    ),
    (
        "formula",
        "x is taken for turns. It is in radians: leave out the factor 2π.",
        lambda x: ((x * (2 * math.pi)).sin(), (x * (2 * math.pi)).cos()),
        (r"6\.28|tau|TAU|TWO_PI|pi\b",),
    ),
    (
        "formula",
        "The cosine is that of sin x. Keep x: the sine needs a name of its own.",
        lambda x: (x.sin(), x.sin().cos()),
        (r"^\s*x = .*sin\(", r"cos\("),
    ),
    (
        "formula",
        "The sine is that of cos x. Keep x: the cosine needs a name of its own.",
        lambda x: (x.cos().sin(), x.cos()),
        (r"^\s*x = .*cos\(", r"sin\("),
    ),
    (
        "sign",
        "The sine of x - π/2 is the negative cosine. That of π/2 - x would be right for small x.",
        lambda x: (x.sin(), -x.cos()),
        (r"sin\(.*-",),
    ),
    (
        "precision",
        "x is rounded to whole radians first. An integer has no fraction: convert to float32.",
        lambda x: (x.trunc().sin(), x.trunc().cos()),
        (r"int(8|16|32)\)", r"floor\(|rint\("),
    ),
    (
        "precision",
        "x is rounded to float16 first. A large angle loses its digits: convert to float32 and to "
        "nothing else.",
        lambda x: (x.half().to(x.dtype).sin(), x.half().to(x.dtype).cos()),
        (r"float16",),
    ),
    (
        "precision",
        "x is rounded to bfloat16 first. A large angle loses its digits: convert to float32 and to "
        "nothing else.",
        lambda x: (x.bfloat16().to(x.dtype).sin(), x.bfloat16().to(x.dtype).cos()),
        (r"bfloat16",),
    ),
)

# How a reduction of one's own loses digits, and the lines that it may have.
LOST = (
    "Next to 1,000, float32 numbers lie 6e-5 apart: adding to x, multiplying it, or subtracting "
    "multiples of a rounded 2π loses as much of the angle, and 16 bits lose more. tl.sin and "
    "tl.cos of x itself subtract π/2 in three parts."
)
ROUNDED = (r"6\.28|3\.14|1\.57|0\.159|0\.636", r"floor\(|rint\(")

MISTAKES = (
    *(
        Mistake(cause=cause, hint=hint, reference=partial(_outputs, wrong), near=near)
        for cause, hint, wrong, near in FORMULAS
    ),
    Mistake(
        cause="formula",
        hint="Negative cosines are wrong. A square root has no sign: sqrt(1 - sin²) is |cos x|.",
        only=_root_goes_wrong,
        near=(r"sqrt\(|abs\(",),
    ),
    Mistake(
        cause="formula",
        hint="Only two quadrants are wrong. Of the number of the nearest quarter turn, bit 0 says "
        "whether sine and cosine change places, and bit 1 whether both change sign.",
        only=partial(_marked, lambda x: _quarter(x) >= 2),
        near=(r"& ?1|% ?2|& ?2", r"where\("),
    ),
    Mistake(
        cause="precision",
        hint=f"Only angles of more than a turn are wrong. {LOST}",
        only=partial(_marked, lambda x: x.abs() > 2 * math.pi),
        near=ROUNDED,
    ),
    Mistake(
        cause="precision",
        hint=f"Only angles outside the first turn are wrong. {LOST}",
        only=partial(_marked, lambda x: (x < 0) | (x > 2 * math.pi)),
        near=ROUNDED,
    ),
)


SPEC = Spec(
    title="Sine and cosine",
    summary="Two outputs of one input: one kernel reads it once, where two would read it twice.",
    needs=("01_vector_add",),
    backend="triton",
    entry="sin_cos",
    arguments=(reads("x"), writes("sin_out", like="x"), writes("cos_out", like="x")),
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
        Case((513,), "float32", draw="extremes"),
        Case((1023,), "bfloat16", draw="extremes"),
        Case((1024,), "float32", draw="extremes"),
        Case((1025,), "float16", offset=1),
        Case((1025,), "float32", draw="extremes"),
        Case((2048,), "bfloat16", draw="denormals", offset=1),
        Case((4099,), "float16", draw="constant"),
        Case((10007,), "float32", draw="integers"),
        Case((30011,), "bfloat16"),
        Case((32_768,), "float32", draw="constant"),
        Case((65_537,), "float16", draw="ties", offset=1),
        Case((262_147,), "bfloat16", draw="extremes"),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**20,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, magnitude=magnitude),
    pictured=Case((520,), "float32", draw="integers"),
    counted=Case((5003,), "float32"),
    scored=Scored(dtype="float32"),
    # One sine and one cosine per element.
    flops=lambda case: 2 * case.elements,
    # Two kernels move 16 bytes where 12 would do: they reach 0.75 at most.
    gates=Gates(passing=0.80, great=0.95),
    hints=(
        "Both outputs at one place depend on one element of x. Load a block of x once, keep it in "
        "a variable, and use the variable twice.",
        "One kernel may store to two tensors: a `tl.store` to `sin_ptr + offsets`, and another to "
        "`cos_ptr + offsets`. The offsets and the mask are the same for all three tensors.",
        "`tl.sin` and `tl.cos` take float32, and not float16 or bfloat16: convert with "
        "`.to(tl.float32)` after the load. They reduce large angles themselves, better than "
        "`x - 2 * pi * floor(x / (2 * pi))` can.",
        "On the host it is one launch: "
        "`sin_cos_kernel[(triton.cdiv(n, BLOCK),)](x, sin_out, cos_out, n, BLOCK=BLOCK)`.",
    ),
    mistakes=MISTAKES,
)
