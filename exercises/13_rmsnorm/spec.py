"""RMSNorm, forward and backward: rows kept on the chip, a weight's gradient by partial sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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

LONGEST = 16_384  # columns: a row of so many still is one block
PARTIALS = 1_024  # rows of partial sums, in float32, that the memory budget holds


def largest_x(case: Case) -> float:
    """Return a bound of |x| with which the sum of a row's squares fits a float32 four times."""
    return min(LARGEST[case.dtype], (LARGEST["float32"] / (4 * case.shape[1])) ** 0.5)


def inverse_rms(x: Tensor, eps: float) -> Tensor:
    return (x.square().mean(-1) + eps).rsqrt()


# -- forward


def forward_inputs(case: Case, draw: Draw) -> Inputs:
    """A normalized row is at most sqrt(columns): 128 times a weight below stays finite."""
    return {
        "x": draw.tensor(case.shape, extreme=largest_x(case)),
        "weight": draw.tensor(case.shape[1:], extreme=LARGEST[case.dtype] ** 0.45),
        "eps": draw.number(1e-6, 1e-2),
    }


def forward(inputs: Inputs) -> Mapping[str, Tensor]:
    rstd = inverse_rms(inputs["x"], inputs["eps"])
    return {"out": inputs["x"] * rstd.unsqueeze(-1) * inputs["weight"], "rstd": rstd}


def forward_magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|out|: a sum of squares has no cancellation, and all else is products.

    A GPU may flush x, or x * rstd, or x * weight below 2**-126 to 0, before the factors that are
    left enlarge the loss. The limit is 8 * 2**-24 times the magnitude: 2**-102 in it permits that.
    """
    factors = (1 + expected["rstd"].unsqueeze(-1)) * (1 + inputs["weight"].abs())
    return {"out": expected["out"].abs() + 2.0**-102 * factors, "rstd": expected["rstd"]}


# -- backward


def backward_inputs(case: Case, draw: Draw) -> Inputs:
    """The forward pass's tensors, rstd as it computes it, and the gradient of its output."""
    extreme = LARGEST[case.dtype] ** 0.2
    x = draw.tensor(case.shape, extreme=extreme)
    weight = draw.tensor(case.shape[1:], extreme=extreme)
    dout = draw.tensor(case.shape, extreme=extreme)
    if case.dtype == "float16":
        # It ends at 65,504, which weight * dout * rstd would exceed for a row of small x.
        dout.mul_(2.0**-10)
    return {
        "x": x,
        "weight": weight,
        "rstd": inverse_rms(x.float(), draw.number(1e-6, 1e-2)),
        "dout": dout,
    }


def backward(inputs: Inputs) -> Mapping[str, Tensor]:
    rstd, dout = inputs["rstd"].unsqueeze(-1), inputs["dout"]
    xhat, scaled = inputs["x"] * rstd, inputs["weight"] * dout
    mean = (scaled * xhat).mean(-1, keepdim=True)
    return {"dx": rstd * (scaled - xhat * mean), "dweight": (dout * xhat).sum(0)}


def backward_magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sums of absolute terms: they may cancel, their rounding errors do not.

    2**-102 permits a product below 2**-126 that a GPU flushes to 0, as in the forward pass.
    """
    rstd, dout = inputs["rstd"].unsqueeze(-1), inputs["dout"].abs()
    xhat, scaled = inputs["x"].abs() * rstd, inputs["weight"].abs() * dout
    mean = (scaled * xhat).mean(-1, keepdim=True)
    flushed = 2.0**-102 * (1 + rstd) * (1 + xhat) * (1 + inputs["weight"].abs()) * (1 + dout)
    return {
        "dx": rstd * (scaled + xhat * mean) + flushed * (1 + rstd),
        "dweight": (dout * xhat + flushed).sum(0),
    }


def memory_budget(case: Case) -> int:
    """Return the bytes of PARTIALS rows of partial sums, and at least 4 MiB."""
    return max(4 << 20, PARTIALS * case.shape[1] * 4)


# -- likely mistakes


def _normalized(rstd: Tensor, inputs: Inputs) -> Mapping[str, Tensor]:
    """Return the outputs of a forward pass with another inverse root for each row."""
    return {"out": inputs["x"] * rstd.unsqueeze(-1) * inputs["weight"], "rstd": rstd}


def _without_eps(inputs: Inputs) -> Mapping[str, Tensor]:
    return _normalized(inverse_rms(inputs["x"], 0.0), inputs)


def _eps_beside_the_root(inputs: Inputs) -> Mapping[str, Tensor]:
    root = inputs["x"].square().mean(-1).sqrt()
    return _normalized(1 / (root + inputs["eps"]), inputs)


def _sum_of_squares(inputs: Inputs) -> Mapping[str, Tensor]:
    return _normalized((inputs["x"].square().sum(-1) + inputs["eps"]).rsqrt(), inputs)


def _mean_not_of_squares(inputs: Inputs) -> Mapping[str, Tensor]:
    return _normalized((inputs["x"].mean(-1).square() + inputs["eps"]).rsqrt(), inputs)


def _without_a_root(inputs: Inputs) -> Mapping[str, Tensor]:
    return _normalized(1 / (inputs["x"].square().mean(-1) + inputs["eps"]), inputs)


def _layer_norm(inputs: Inputs) -> Mapping[str, Tensor]:
    centred = inputs["x"] - inputs["x"].mean(-1, keepdim=True)
    return _normalized(inverse_rms(centred, inputs["eps"]), {**inputs, "x": centred})


def _without_weight(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"] * inverse_rms(inputs["x"], inputs["eps"]).unsqueeze(-1)}


def _dx(inputs: Inputs, projected: float) -> Mapping[str, Tensor]:
    """Return dx with `projected` times the term of the mean."""
    rstd = inputs["rstd"].unsqueeze(-1)
    xhat, scaled = inputs["x"] * rstd, inputs["weight"] * inputs["dout"]
    mean = (scaled * xhat).mean(-1, keepdim=True)
    return {"dx": rstd * (scaled - projected * xhat * mean)}


def _dx_with_the_sum(inputs: Inputs) -> Mapping[str, Tensor]:
    return _dx(inputs, inputs["x"].shape[1])


def _dx_without_weight(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"dx": backward({**inputs, "weight": inputs["weight"].new_ones(())})["dx"]}


def _dweight_of_x(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"dweight": (inputs["dout"] * inputs["x"]).sum(0)}


def _dweight_with_weight(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"dweight": backward(inputs)["dweight"] * inputs["weight"]}


NEAR_RSTD = (r"sqrt\(",)
FORWARD_MISTAKES = (
    Mistake(
        cause="formula",
        hint="eps is missing: it is added to the mean of the squares, under the root. Without it, "
        "a row of zeros divides by 0.",
        reference=_without_eps,
        near=NEAR_RSTD,
    ),
    Mistake(
        cause="formula",
        hint="eps is added to the root: add it to the mean of the squares, under the root.",
        reference=_eps_beside_the_root,
        near=NEAR_RSTD,
    ),
    Mistake(
        cause="formula",
        hint="This is the sum of the squares, where their mean belongs: divide by columns.",
        reference=_sum_of_squares,
        near=NEAR_RSTD,
    ),
    Mistake(
        cause="formula",
        hint="This squares the mean: RMSNorm takes the mean of x * x.",
        reference=_mean_not_of_squares,
        near=(r"sum\(", *NEAR_RSTD),
    ),
    Mistake(
        cause="formula",
        hint="The root is missing: rstd is 1 / sqrt(mean of x * x + eps).",
        reference=_without_a_root,
        near=(r"\+ *eps", r"eps"),
    ),
    Mistake(
        cause="formula",
        hint="This subtracts the mean of the row, as LayerNorm does. RMSNorm subtracts nothing.",
        reference=_layer_norm,
        near=(r"x *- *\w*mean", r"sum\("),
    ),
    Mistake(
        cause="never_read",
        hint="The output is x * rstd alone: where is it multiplied by weight?",
        reference=_without_weight,
        near=(r"store\(out", r"store\("),
    ),
)
BACKWARD_MISTAKES = (
    Mistake(
        cause="formula",
        hint="dx is rstd * weight * dout alone. rstd depends on x, too: subtract "
        "xhat * mean(weight * dout * xhat).",
        reference=lambda inputs: _dx(inputs, 0.0),
        near=(r"\bdx\w* *=", r"store\(dx"),
    ),
    Mistake(
        cause="sign",
        hint="The term with the mean is added to dx, where it must be subtracted.",
        reference=lambda inputs: _dx(inputs, -1.0),
        near=(r"\bdx\w* *=", r"store\(dx"),
    ),
    Mistake(
        cause="formula",
        hint="dx subtracts xhat times a sum, where the mean belongs: divide by columns.",
        reference=_dx_with_the_sum,
        near=(r"sum\(.*xhat|sum\(",),
    ),
    Mistake(
        cause="formula",
        hint="dx lacks weight: the gradient of xhat is weight * dout.",
        reference=_dx_without_weight,
        near=(r"sum\(.*dout|sum\(",),
    ),
    Mistake(
        cause="formula",
        hint="dweight sums dout * x, where xhat belongs: x times rstd.",
        reference=_dweight_of_x,
        near=(r"partial\w* *\+=|\+=.*dout", r"\+="),
    ),
    Mistake(
        cause="formula",
        hint="dweight has weight as a factor: its gradient is the sum of dout * xhat.",
        reference=_dweight_with_weight,
        near=(r"partial\w* *\+=|\+=", r"\+="),
    ),
)


FORWARD = Spec(
    title="RMSNorm",
    summary="Normalize rows that stay on the chip, and sum a gradient over all of them.",
    needs=("01_vector_add", "t03_tile", "t05_block_loop"),
    backend="triton",
    entry="rms_norm",
    arguments=(
        reads("x"),
        reads("weight", at_most=None),
        writes("out", like="x"),
        writes("rstd", shape=lambda inputs: (inputs["x"].shape[0],), dtype="float32"),
        scalar("eps"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals"),
    edges=(
        Case((1, 1), "float32"),
        Case((3, 2), "bfloat16", pad=3),
        Case((64, 1), "float32", draw="denormals"),
        Case((2, 3), "float16"),
        Case((7, 13), "float32", draw="ties", pad=3),
        Case((4, 127), "float16", draw="extremes"),
        Case((3, 128), "float32", draw="constant"),
        Case((5, 129), "bfloat16", draw="extremes", offset=1),
        Case((5, 1023), "float32", draw="extremes", pad=1),
        Case((3, 1024), "float16", draw="denormals"),
        Case((6, 1025), "float32", pad=7, offset=1),
        Case((3, 4097), "bfloat16", draw="ties", pad=1),
        Case((2, 5003), "float16", pad=5),
        Case((300, 257), "bfloat16", draw="constant", pad=1),
        Case((5, 8192), "bfloat16"),
        Case((4_097, 33), "float32", pad=5),
        Case((3, 16_383), "float32", draw="extremes"),
        Case((4, 16_384), "bfloat16", draw="denormals", offset=1),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, LONGEST),
    most_elements=2**18,
    inputs=forward_inputs,
    reference=forward,
    tolerance=Tolerance(terms=lambda case: case.shape[1], magnitude=forward_magnitude),
    pictured=Case((2, 6), "float32"),
    counted=Case((3, 5003), "bfloat16", pad=3),
    scored=Scored(dtype="bfloat16", columns=8192),
    # Per element: a square and its addition, and the products with rstd and weight.
    flops=lambda case: 4 * case.elements,
    gates=Gates(passing=0.75, great=0.93),
    hints=(
        "A row has at most 16,384 elements, so it can be one block, and stay on the chip. Load it "
        "once with `mask=offsets < columns` and `other=0.0`: zeros add nothing to the sum.",
        "The sum of the squares is `tl.sum(x * x, axis=0)`. Divide it by `columns`, not by BLOCK, "
        "and add eps: `tl.sqrt` of that is the root, and rstd is 1 divided by it. Store rstd too: "
        "the backward pass needs it.",
        "Backward, dx of a row needs one mean: that of weight * dout * xhat, where xhat is x times "
        "rstd. Compute it from the block, as before, then dx from the same x and dout: nothing is "
        "loaded twice.",
        "For dweight each program keeps `partial = tl.zeros((BLOCK,), tl.float32)` and adds "
        "dout * xhat of each of its rows. After its last row, it stores `partial` as one row of a "
        "float32 matrix that the host has allocated, with one row for each program.",
        "The last kernel gives each program some columns. It loads tiles of partial sums, "
        "32 rows of 64 columns for example, adds them up, and reduces the tile with "
        "`tl.sum(sums, axis=0)`.",
    ),
    strided=True,
    mistakes=FORWARD_MISTAKES,
)

BACKWARD = replace(
    FORWARD,
    entry="rms_norm_backward",
    arguments=(
        reads("x"),
        reads("weight", at_most=None),
        reads("rstd", at_most=None),
        reads("dout"),
        writes("dx", like="x"),
        writes("dweight", like="weight", dtype="float32", at_most=None),
    ),
    draws=("rows", "ties", "extremes", "denormals"),
    edges=(
        Case((1, 2), "float32"),
        Case((3, 3), "bfloat16", pad=3),
        Case((2, 5), "float16"),
        Case((7, 13), "float32", draw="ties", pad=3),
        Case((4, 127), "float16", draw="extremes"),
        Case((9, 128), "float32", draw="denormals"),
        Case((5, 129), "bfloat16", draw="extremes", offset=1),
        Case((5, 1023), "float32", draw="extremes", pad=1),
        Case((3, 1024), "float16", draw="ties"),
        Case((6, 1025), "float32", pad=7, offset=1),
        Case((3, 4097), "bfloat16", draw="ties", pad=1),
        Case((2, 5003), "float16", pad=5),
        Case((131, 257), "float16", pad=1),
        Case((300, 65), "float32", draw="denormals"),
        Case((5, 8192), "bfloat16"),
        Case((4_097, 33), "bfloat16", pad=5),
        Case((3, 16_383), "float32", draw="extremes"),
        Case((4, 16_384), "bfloat16", offset=1),
    ),
    inputs=backward_inputs,
    reference=backward,
    tolerance=Tolerance(terms=lambda case: max(case.shape), magnitude=backward_magnitude),
    pictured=Case((7, 6), "float32"),
    memory_budget=memory_budget,
    # Each of a few hundred programs has several rows, so that more rows take no more partial sums.
    memory_counted=Case((PARTIALS, 33), "bfloat16", pad=3),
    independent_columns=True,
    # Per element: xhat, weight * dout, the product and the addition of the mean, that of dweight,
    # and product, difference and product of dx.
    flops=lambda case: 9 * case.elements,
    gates=Gates(passing=0.60, great=0.83),
    mistakes=BACKWARD_MISTAKES,
)

SPEC = replace(FORWARD, also=(BACKWARD,))
