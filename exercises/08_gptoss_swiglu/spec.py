"""GPT-OSS's SwiGLU: out = x * sigmoid(alpha * x) * (y + 1), with x and y clamped first."""

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
    Instructions,
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

    Wrong = Callable[[Tensor, Tensor, float, float], Tensor]

# Those of GPT-OSS. A kernel gets float32 numbers, and this is the float32 number nearest to 1.702.
ALPHA, LIMIT = 1.7020000219345093, 7.0


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two vectors, and the model's numbers or others.

    Each second x is negative: outputs that are all nearly 0 would test nothing. Extremes come with
    the largest exponent, 256, whose exponential no float32 holds.
    """
    extreme = LARGEST[case.dtype] / 8
    x = draw.tensor(case.shape, extreme=extreme).abs_()
    x[1::2].neg_()
    y = draw.tensor(case.shape, extreme=extreme)
    alpha, limit = draw.number(0.25, 4.0), draw.number(0.5, 64.0)
    if case.draw == "extremes":
        alpha, limit = 4.0, 64.0
    elif draw.truth():
        alpha, limit = ALPHA, LIMIT
    return {"x": x, "y": y, "alpha": alpha, "limit": limit}


def clamped(inputs: Inputs) -> tuple[Tensor, Tensor, float, float]:
    """Return the clamped x and y, alpha and limit."""
    limit = inputs["limit"]
    x, y = inputs["x"].clamp(max=limit), inputs["y"].clamp(-limit, limit)
    return x, y, inputs["alpha"], limit


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    x, y, alpha, _ = clamped(inputs)
    return {"out": x * (alpha * x).sigmoid() * (y + 1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|x * sigmoid(z)| * (|y| + 1) with z = alpha * x, widened for negative z.

    Kernels may multiply by y and add, so the two terms of y + 1 count apart.

    For z < 0 the sigmoid is about exp(z), and three roundings of the exponent (alpha * x, and times
    log2(e)) change it by a relative error of up to 2.3 * |z| * 2**-24. The limit is 8 * 2**-24
    times the magnitude: 3/8 of |z| in it permits 3 * |z| * 2**-24. Below z = -88.7 exp(-z) is
    larger than float32 can hold, so that an honest kernel answers 0 where the true value is up to
    2**-119 * (|y| + 1): 2**-100 in the magnitude permits more than that.

    With sigmoid(z) = (1 + tanh(z / 2)) / 2 the sum loses digits for z < 0. Where tanh comes from
    a division, 1 - 2 / (exp(z) + 1), a GPU's quick one is off by 2 units of 2**-23 near 2, and
    x / 2 times that is 2 * |x| * 2**-24: 3/8 of |x| permits 3. Past z = -128 |x| counts no more.
    """
    x, y, alpha, _ = clamped(inputs)
    z = alpha * x
    condition = 1 + 0.375 * (-z).clamp(0, 128)  # past -128 there is only 0
    by_tanh = 0.375 * (-x).clamp(0, 128 / alpha)
    gated = (x * z.sigmoid()).abs() + 2.0**-100
    return {"out": (gated * condition + by_tanh) * (y.abs() + 1)}


def _of_clamped(wrong: Wrong, inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": wrong(*clamped(inputs))}


def _of_given(wrong: Wrong, inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": wrong(inputs["x"], inputs["y"], inputs["alpha"], inputs["limit"])}


def _gated(x: Tensor, y: Tensor, alpha: float) -> Tensor:
    return x * (alpha * x).sigmoid() * (y + 1)


EXPONENTIAL = (r"exp2?\(|sigmoid\(|tanh\(",)
PRODUCT = (r"\+ *1\b|1\.0 *\+ *y|\* *y\b|\* *\(y", r"store\(")
CLAMP = (r"clamp\(|minimum\(|maximum\(|where\(",)

# Of clamped x and y: how the output comes out, and what is wrong then.
FORMULAS: tuple[tuple[str, str, Wrong, tuple[str, ...]], ...] = (
    (
        "formula",
        "y is not raised by 1: GPT-OSS multiplies by y + 1.",
        lambda x, y, alpha, limit: x * (alpha * x).sigmoid() * y,
        PRODUCT,
    ),
    (
        "formula",
        "The 1 is added to the gate: it belongs to y, which is multiplied by the gate as y + 1.",
        lambda x, y, alpha, limit: (x * (alpha * x).sigmoid() + 1) * y,
        PRODUCT,
    ),
    (
        "formula",
        "The 1 is added to the product: it belongs to y, which is multiplied as y + 1.",
        lambda x, y, alpha, limit: x * (alpha * x).sigmoid() * y + 1,
        PRODUCT,
    ),
    (
        "sign",
        "1 is subtracted from y: GPT-OSS multiplies by y + 1.",
        lambda x, y, alpha, limit: x * (alpha * x).sigmoid() * (y - 1),
        PRODUCT,
    ),
    (
        "formula",
        "The gate is multiplied by itself, where it must be multiplied by y + 1.",
        lambda x, y, alpha, limit: (x * (alpha * x).sigmoid()) * (x * (alpha * x).sigmoid() + 1),
        PRODUCT,
    ),
    (
        "never_read",
        "The output is the gate alone: where is it multiplied by y + 1?",
        lambda x, y, alpha, limit: x * (alpha * x).sigmoid(),
        (r"store\(",),
    ),
    (
        "formula",
        "The sigmoid is that of x, as in silu: here it is that of alpha * x.",
        lambda x, y, alpha, limit: x * x.sigmoid() * (y + 1),
        EXPONENTIAL,
    ),
    (
        "formula",
        "alpha multiplies the output: it belongs inside the sigmoid and nowhere else.",
        lambda x, y, alpha, limit: alpha * x * x.sigmoid() * (y + 1),
        (r"alpha",),
    ),
    (
        "formula",
        "alpha multiplies the gate, too: it belongs inside the sigmoid and nowhere else.",
        lambda x, y, alpha, limit: alpha * x * (alpha * x).sigmoid() * (y + 1),
        (r"alpha",),
    ),
    (
        "formula",
        "The sign in the exponential is turned round: sigmoid(z) is 1 / (1 + exp(-z)), with a "
        "minus.",
        lambda x, y, alpha, limit: x * (-alpha * x).sigmoid() * (y + 1),
        EXPONENTIAL,
    ),
    (
        "formula",
        "The output is sigmoid(alpha * x) * (y + 1): where is it multiplied by x?",
        lambda x, y, alpha, limit: (alpha * x).sigmoid() * (y + 1),
        EXPONENTIAL,
    ),
    (
        "formula",
        "The tangent is that of z, not of half of it: sigmoid(z) is (1 + tanh(z / 2)) / 2.",
        lambda x, y, alpha, limit: x * (2 * alpha * x).sigmoid() * (y + 1),
        EXPONENTIAL,
    ),
    (
        "formula",
        "The 1 beside the tangent is missing: sigmoid(z) is (1 + tanh(z / 2)) / 2.",
        lambda x, y, alpha, limit: x * (alpha * x / 2).tanh() / 2 * (y + 1),
        EXPONENTIAL,
    ),
    (
        "formula",
        "This is exp2 of z, a power of 2: exp(z) is exp2(z * 1.4426950408889634).",
        lambda x, y, alpha, limit: x * (0.6931471805599453 * alpha * x).sigmoid() * (y + 1),
        EXPONENTIAL,
    ),
)

# Of x and y as given: clamps that are wrong.
CLAMPS: tuple[tuple[str, str, Wrong, tuple[str, ...]], ...] = (
    (
        "formula",
        "Nothing is clamped: x is at most limit, and y lies between -limit and limit.",
        lambda x, y, alpha, limit: _gated(x, y, alpha),
        (*EXPONENTIAL, r"store\("),
    ),
    (
        "formula",
        "x is clamped from below, too: it is clamped from above alone. A very negative x gives 0.",
        lambda x, y, alpha, limit: _gated(x.clamp(-limit, limit), y.clamp(-limit, limit), alpha),
        CLAMP,
    ),
    (
        "formula",
        "y is clamped from above alone: it lies between -limit and limit.",
        lambda x, y, alpha, limit: _gated(x.clamp(max=limit), y.clamp(max=limit), alpha),
        CLAMP,
    ),
    (
        "formula",
        "y is not clamped: it lies between -limit and limit.",
        lambda x, y, alpha, limit: _gated(x.clamp(max=limit), y, alpha),
        CLAMP,
    ),
    (
        "formula",
        "x is not clamped: it is at most limit.",
        lambda x, y, alpha, limit: _gated(x, y.clamp(-limit, limit), alpha),
        CLAMP,
    ),
    (
        "formula",
        "y is clamped after the 1 was added: clamp first, and then add.",
        lambda x, y, alpha, limit: _gated(
            x.clamp(max=limit), (y + 1).clamp(-limit, limit) - 1, alpha
        ),
        (r"(clamp|minimum|maximum)\(.*\+", *CLAMP),
    ),
    (
        "formula",
        "x is clamped from below, where it must be clamped from above: at most limit.",
        lambda x, y, alpha, limit: _gated(x.clamp(min=limit), y.clamp(-limit, limit), alpha),
        CLAMP,
    ),
    (
        "swapped_arguments",
        "x and y are mixed up: the gate is made of x, and the 1 is added to y.",
        lambda x, y, alpha, limit: _gated(y.clamp(max=limit), x.clamp(-limit, limit), alpha),
        EXPONENTIAL,
    ),
    (
        "swapped_arguments",
        "y is -limit everywhere: in tl.clamp the lower limit comes first.",
        lambda x, y, alpha, limit: _gated(x.clamp(max=limit), (0 * y).clamp(max=-limit), alpha),
        (r"clamp\(",),
    ),
    (
        "formula",
        "The number 7 is fixed in the kernel: clamp by the argument limit.",
        lambda x, y, alpha, limit: _gated(x.clamp(max=7.0), y.clamp(-7.0, 7.0), alpha),
        (r"\b7\.?0?\b",),
    ),
    (
        "formula",
        "The number 1.702 is fixed in the kernel: multiply x by the argument alpha.",
        lambda x, y, alpha, limit: _gated(x.clamp(max=limit), y.clamp(-limit, limit), ALPHA),
        (r"1\.702",),
    ),
)

MISTAKES = tuple(
    Mistake(cause=cause, hint=hint, reference=partial(of, wrong), near=near)
    for of, listed in ((_of_clamped, FORMULAS), (_of_given, CLAMPS))
    for cause, hint, wrong, near in listed
)


SPEC = Spec(
    title="GPT-OSS SwiGLU",
    summary="Fuse two clamps and a sigmoid, keep NaN, and count what the compiler makes of it.",
    needs=("05_swiglu",),
    backend="triton",
    entry="gptoss_swiglu",
    arguments=(
        reads("x"),
        reads("y"),
        writes("out", like="x"),
        scalar("alpha"),
        scalar("limit"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float16"),
        Case((3,), "bfloat16"),
        Case((13,), "float32", draw="denormals"),
        Case((127,), "float16", draw="extremes"),
        Case((127,), "bfloat16", draw="constant"),
        Case((128,), "bfloat16", draw="integers"),
        Case((129,), "float32", draw="ties", offset=1),
        Case((1023,), "bfloat16", draw="extremes"),
        Case((1024,), "float32"),
        Case((1025,), "float16", offset=1),
        Case((1025,), "float32", draw="extremes"),
        Case((2048,), "bfloat16", draw="denormals", offset=1),
        Case((2049,), "float32", draw="integers"),
        Case((4099,), "float16", draw="constant"),
        Case((10007,), "float32", draw="integers"),
        Case((30011,), "bfloat16"),
        Case((65_537,), "float16", draw="ties", offset=1),
        Case((262_147,), "bfloat16", draw="extremes"),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**20,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, magnitude=magnitude),
    pictured=Case((2060,), "float32", draw="integers"),
    counted=Case((5003,), "bfloat16"),
    scored=Scored(dtype="bfloat16"),
    # Per element: three comparisons of the clamps, and alpha * x, negation, exp, addition,
    # division, y + 1, product.
    flops=lambda case: 10 * case.elements,
    # Those of 05_swiglu: its kernel moves as many bytes an element in the same mix, two reads and a
    # write, with an exponential and a division between. On an H200 the solution reaches 0.99.
    gates=Gates(passing=0.80, great=0.97),
    instructions=Instructions(
        most=24.0,
        best=9.25,
        hint="A function of the math library that is accurate to the last digit, a division that "
        "rounds fully, float64, or an exponential for each sign of x: the output keeps none of it. "
        "x / (1 + exp(-alpha * x)) with tl.exp and `/` has 17 instructions.",
        near=(r"tanh\(|pow\(|div_rn\(|rcp_rn\(|float64", r"where\(.*(exp|sigmoid|tanh)", r"exp\("),
    ),
    hints=(
        "Begin with the arithmetic of 05_swiglu on vectors: one mask, two loads, one store. The "
        "clamps come right after the loads, in float32.",
        "`tl.minimum(a, b)` and `tl.clamp(a, low, high)` return the number where the other operand "
        "is NaN. Both take `propagate_nan=tl.PropagateNan.ALL`.",
        "`sigmoid(z) = 1 / (1 + exp(-z))`, and `x * sigmoid(z)` is one division. For a very "
        "negative x the exponential becomes infinite and the quotient 0: that is right.",
        "`tl.exp(a)` is `tl.exp2(a * 1.4426950408889634)` to the compiler. Multiply alpha by that "
        "number once for the block, and not each element: then call `tl.exp2` yourself.",
        "With g for the gate, g * (y + 1) is g * y + g: one fused multiply-add in place of an "
        "addition and a product.",
    ),
    mistakes=MISTAKES,
)
