"""Rows in 8 bits with a scale each, and two 4-bit numbers of a byte: rounding, shifts, signs."""

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
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 16_384  # columns: a row of so many still is one block
LEAST = 2.0**-100  # the largest |x| of a row that is not all 0: a GPU may flush what is tiny to 0
MOST = 127  # of |q|: -128 has no opposite in 8 bits
# Each of three float32 steps (a scale, its inverse, a product) may be off by 2 * 2**-23, and the
# sum with a half by 2**-24: relative to 1 + |x / scale|, together less than this.
NEAR_A_TIE = 2.0**-20


# -- quantize


def quantize_inputs(case: Case, draw: Draw) -> Inputs:
    """Rows whose largest |x| is 0, or at least LEAST."""
    x = draw.tensor(case.shape)
    largest = x.amax(-1).maximum(-x.amin(-1))
    return {"x": x.masked_fill_((largest < LEAST).unsqueeze(-1), 0.0)}


def scale_of(x: Tensor) -> Tensor:
    """Return the size of a step for each row: 1 where all of the row is 0."""
    largest = x.abs().amax(-1)
    return (largest / MOST).where(largest > 0, 1.0)


def in_steps(x: Tensor, scale: Tensor) -> Tensor:
    return x / scale.unsqueeze(-1)


def quantize(inputs: Inputs) -> Mapping[str, Tensor]:
    scale = scale_of(inputs["x"])
    return {"q": in_steps(inputs["x"], scale).round(), "scale": scale}


def across_a_tie(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return the other neighbour of x / scale where float32 may not say on which side it lies."""
    steps = in_steps(inputs["x"], expected["scale"])
    below = steps.floor()
    near = (steps - below - 0.5).abs() <= NEAR_A_TIE * (1 + steps.abs())
    nearest = expected["q"].to(steps.dtype)
    return {"q": (2 * below + 1 - nearest).where(near, nearest)}


# -- unpack


def unpack_inputs(case: Case, draw: Draw) -> Inputs:
    """The product of -8 and a scale stays finite."""
    return {
        "packed": draw.tensor(case.shape, dtype="uint8"),
        "scale": draw.tensor(case.shape[:1], extreme=LARGEST[case.dtype] / 8),
    }


def signed(nibble: Tensor) -> Tensor:
    """Return -8 to 7 for the four bits of 0 to 15."""
    return (nibble ^ 8) - 8


def halves(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the low and the high four bits of each byte, as 0 to 15 in int64."""
    return packed.long() & 15, packed.long() >> 4


def side_by_side(left: Tensor, right: Tensor) -> Tensor:
    """Return left in the even columns, and right in the odd ones."""
    pairs = left.unsqueeze(-1).repeat_interleave(2, -1)
    pairs[..., 1] = right
    return pairs.flatten(-2)


def unpack(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = halves(inputs["packed"])
    return _scaled(side_by_side(signed(low), signed(high)), inputs)


# -- likely mistakes


def _held(values: Tensor) -> Tensor:
    """Return what a store to int8 makes of whole numbers: the low bits of 16."""
    return (values.clamp(-(2**15), 2**15 - 1) + 128) % 256 - 128


def _of_scale(x: Tensor, scale: Tensor) -> Mapping[str, Tensor]:
    return {"q": _held(in_steps(x, scale).round()), "scale": scale}


def _beyond_a_half(steps: Tensor, whole: Tensor) -> Mapping[str, Tensor]:
    """Mark what is wrong if whole numbers are taken for rounded ones.

    Near a whole number that depends on how the quotient was computed.
    """
    near_a_whole_one = (steps - steps.round()).abs() <= NEAR_A_TIE * (1 + steps.abs())
    return {"q": ((steps - whole).abs() > 0.499) | near_a_whole_one}


def _cut_off(inputs: Inputs) -> Mapping[str, Tensor]:
    steps = in_steps(inputs["x"].double(), scale_of(inputs["x"].double()))
    return _beyond_a_half(steps, steps.trunc())


def _rounded_down(inputs: Inputs) -> Mapping[str, Tensor]:
    steps = in_steps(inputs["x"].double(), scale_of(inputs["x"].double()))
    return _beyond_a_half(steps, steps.floor())


def _without_steps(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"q": _held(inputs["x"].round())}


def _of_lanes_of_one(inputs: Inputs) -> Mapping[str, Tensor]:
    return _of_scale(inputs["x"], inputs["x"].abs().amax(-1).clamp(min=1.0) / MOST)


def _too_large(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"q": inputs["x"].double().abs() * MOST > LARGEST["float32"]}


def _half_always_added(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"q": (in_steps(inputs["x"], scale_of(inputs["x"])) + 0.5).trunc()}


def _of_128(inputs: Inputs) -> Mapping[str, Tensor]:
    return _of_scale(inputs["x"], scale_of(inputs["x"]) * MOST / 128)


def _of_the_signed_maximum(inputs: Inputs) -> Mapping[str, Tensor]:
    largest = inputs["x"].amax(-1)
    return _of_scale(inputs["x"], (largest / MOST).where(largest > 0, 1.0))


def _of_the_whole_tensor(inputs: Inputs) -> Mapping[str, Tensor]:
    scale = scale_of(inputs["x"].reshape(1, -1))
    return _of_scale(inputs["x"], scale.expand(inputs["x"].shape[0]))


def _inverse_of_scale(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"scale": 1 / scale_of(inputs["x"])}


def _zero_for_zeros(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"scale": inputs["x"].abs().amax(-1) / MOST}


def _scaled(numbers: Tensor, inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": numbers * inputs["scale"].unsqueeze(-1)}


def _high_first(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = halves(inputs["packed"])
    return _scaled(side_by_side(signed(high), signed(low)), inputs)


def _without_sign(inputs: Inputs) -> Mapping[str, Tensor]:
    return _scaled(side_by_side(*halves(inputs["packed"])), inputs)


def _low_without_sign(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = halves(inputs["packed"])
    return _scaled(side_by_side(low, signed(high)), inputs)


def _high_without_sign(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = halves(inputs["packed"])
    return _scaled(side_by_side(signed(low), high), inputs)


def _minus_eight(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = halves(inputs["packed"])
    return _scaled(side_by_side(low - 8, high - 8), inputs)


def _low_half_first(inputs: Inputs) -> Mapping[str, Tensor]:
    low, high = map(signed, halves(inputs["packed"]))
    columns = low.shape[-1]
    planes = side_by_side(low, high).clone()
    planes[..., :columns], planes[..., columns:] = low, high
    return _scaled(planes, inputs)


def _second_half(inputs: Inputs) -> Mapping[str, Tensor]:
    columns = inputs["packed"].shape[1]
    marks = side_by_side(inputs["packed"].bool(), inputs["packed"].bool())
    marks[:, :columns], marks[:, columns:] = False, True
    return {"out": marks}


def _without_scale(inputs: Inputs) -> Mapping[str, Tensor]:
    ones = inputs["scale"].new_ones(inputs["scale"].shape)
    return unpack({**inputs, "scale": ones})


NEAR_Q = (r"\.to\(tl\.int8\)", r"store\(q")
NEAR_SCALE = (r"max\(",)
NEAR_BITS = (r">>", r"&")
QUANTIZE_MISTAKES = (
    Mistake(
        cause="formula",
        hint="q is cut off, not rounded: a conversion to an integer drops all digits behind the "
        "point. Round to the nearest whole number first.",
        only=_cut_off,
        near=NEAR_Q,
    ),
    Mistake(
        cause="formula",
        hint="q is rounded down: round to the nearest whole number.",
        only=_rounded_down,
        near=(r"floor\(", *NEAR_Q),
    ),
    Mistake(
        cause="formula",
        hint="q is x itself, rounded: divide x by the scale first.",
        reference=_without_steps,
        near=NEAR_Q,
    ),
    Mistake(
        cause="masked_lanes",
        hint="The largest |x| is never below 1 here: masked lanes hold 1. Let them load 0.",
        reference=_of_lanes_of_one,
        near=(r"other *= *1", r"other"),
    ),
    Mistake(
        cause="overflow",
        hint="Only x above a 127th of the largest float32 is wrong: x * 127 is infinite there. "
        "Divide first.",
        only=_too_large,
        near=(r"\* *127|127(\.0)? *\*",),
    ),
    Mistake(
        cause="negative_inputs",
        hint="Half a step is added, and the conversion then cuts off towards 0: that rounds "
        "numbers above 0 alone. Those below 0 need the half subtracted, or a floor.",
        reference=_half_always_added,
        near=(r"0\.5", *NEAR_Q),
    ),
    Mistake(
        cause="formula",
        hint="The scale divides by 128. Then the largest x of a row becomes 128, which int8 "
        "does not have: it wraps around to -128. Divide by 127.",
        reference=_of_128,
        near=(r"\b128\b", *NEAR_SCALE),
    ),
    Mistake(
        cause="negative_inputs",
        hint="This is the largest x, where the largest |x| belongs: a row may reach further "
        "below 0 than above it.",
        reference=_of_the_signed_maximum,
        near=NEAR_SCALE,
    ),
    Mistake(
        cause="formula",
        hint="All rows have the scale of the whole tensor: each has its own.",
        reference=_of_the_whole_tensor,
        near=(r"(largest|most|max)\w* *=", *NEAR_SCALE),
    ),
    Mistake(
        cause="formula",
        hint="This stores 127 / max|x|, the inverse: scale is the size of a step, max|x| / 127.",
        reference=_inverse_of_scale,
        near=(r"store\(scale",),
    ),
    Mistake(
        cause="formula",
        hint="A row of zeros has the scale 0 here. Its scale is 1, so that nobody divides by 0.",
        reference=_zero_for_zeros,
        near=(r"store\(scale", r"127"),
    ),
)
UNPACK_MISTAKES = (
    Mistake(
        cause="never_written",
        hint="The second half of each row of out is missing: it has 2 * columns elements.",
        only=_second_half,
        near=(r"store\(out", r"store\("),
    ),
    Mistake(
        cause="swapped_arguments",
        hint="The halves of a byte are exchanged: the low four bits are the even column.",
        reference=_high_first,
        near=(r"interleave\(|join\(", *NEAR_BITS),
    ),
    Mistake(
        cause="negative_inputs",
        hint="Four bits with the highest one set are below 0: 8 to 15 stand for -8 to -1. "
        "Extend the sign.",
        reference=_without_sign,
        near=NEAR_BITS,
    ),
    Mistake(
        cause="negative_inputs",
        hint="The even columns lack their sign: the low four bits 8 to 15 stand for -8 to -1.",
        reference=_low_without_sign,
        near=(r"&", r"<<"),
    ),
    Mistake(
        cause="negative_inputs",
        hint="The odd columns lack their sign. A shift to the right brings in zeros if the byte "
        "has no sign, and copies of the highest bit if it is an int8.",
        reference=_high_without_sign,
        near=(r">>",),
    ),
    Mistake(
        cause="formula",
        hint="This subtracts 8 from every number. Here 0 to 7 stand for themselves, and 8 to 15 "
        "for -8 to -1.",
        reference=_minus_eight,
        near=(r"- *8",),
    ),
    Mistake(
        cause="block_index",
        hint="The low halves lie side by side, and the high halves after them. A byte's two "
        "numbers are neighbours: columns 2 j and 2 j + 1.",
        reference=_low_half_first,
        near=(r"store\(out", r"store\("),
    ),
    Mistake(
        cause="never_read",
        hint="The numbers are stored as they are: where are they multiplied by scale?",
        reference=_without_scale,
        near=(r"store\(out", r"store\("),
    ),
)


QUANTIZE = Spec(
    title="Quantize to int8",
    summary="Give each row a scale and 8 bits an element; unpack two 4-bit numbers of a byte.",
    needs=("05_swiglu", "t04_reduction"),
    backend="triton",
    entry="quantize",
    arguments=(
        reads("x"),
        writes("q", like="x", dtype="int8"),
        writes("scale", shape=lambda inputs: (inputs["x"].shape[0],), dtype="float32"),
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
        Case((3, 100), "float32", draw="constant"),
        Case((5, 129), "bfloat16", draw="extremes", offset=1),
        Case((3, 128), "bfloat16"),
        Case((5, 1023), "float32", draw="extremes", pad=1),
        Case((3, 1024), "float16", draw="denormals"),
        Case((6, 1025), "float32", pad=7, offset=1),
        Case((3, 4097), "bfloat16", draw="ties", pad=1),
        Case((2, 5003), "float16", pad=5),
        Case((150, 300), "bfloat16", draw="constant", pad=1),
        Case((4_097, 17), "float32", pad=5),
        Case((2, 16_384), "bfloat16", offset=1),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, LONGEST),
    most_elements=2**16,
    inputs=quantize_inputs,
    reference=quantize,
    tolerance=Tolerance(terms=lambda case: 1, also_right=across_a_tie),
    pictured=Case((2, 6), "float32"),
    counted=Case((3, 5003), "bfloat16", pad=3),
    scored=Scored(dtype="bfloat16", columns=8192),
    # Per element: |x|, a comparison, a product and a rounding.
    flops=lambda case: 4 * case.elements,
    gates=Gates(passing=0.70, great=0.90),
    hints=(
        "A row has at most 16,384 elements, so it can be one block. Load it once, with "
        "`other=0.0`: a 0 is never larger than another |x|.",
        "The step of a row is its largest |x| divided by 127. Keep the block: x divided by that "
        "step lies between -127 and 127, and needs no second load.",
        "A conversion to `tl.int8` drops the digits behind the point. Add a half and take "
        "`tl.floor` before it.",
        "A row of zeros would have the scale 0, and 0 / 0 is NaN. Give it the scale 1 with "
        "`tl.where`, before you divide anything by it.",
        "Unpacking: one load of bytes gives two vectors. As int8, a shift to the left by four "
        "and back to the right extends the sign of the low half; one shift to the right "
        "is enough for the high half. `tl.interleave` puts the two side by side.",
    ),
    strided=True,
    mistakes=QUANTIZE_MISTAKES,
)

UNPACK = replace(
    QUANTIZE,
    entry="unpack",
    arguments=(
        # Two lanes that need the two halves of a byte may load it at the same time.
        reads("packed", at_most=2),
        reads("scale", at_most=None),
        writes(
            "out",
            like="scale",
            shape=lambda inputs: (inputs["packed"].shape[0], 2 * inputs["packed"].shape[1]),
        ),
    ),
    draws=("rows", "ties", "constant", "extremes"),
    edges=(
        Case((1, 1), "float32"),
        Case((3, 2), "bfloat16", pad=3),
        Case((2, 3), "float16", draw="extremes"),
        Case((7, 13), "float32", draw="ties", pad=3),
        Case((4, 127), "float16", draw="extremes"),
        Case((5, 100), "bfloat16", draw="constant"),
        Case((3, 128), "bfloat16"),
        Case((5, 129), "bfloat16", draw="extremes", offset=1),
        Case((3, 511), "float16"),
        Case((2, 513), "float32", draw="ties", pad=1),
        Case((5, 1023), "float32", draw="extremes", pad=1),
        Case((3, 1024), "float16"),
        Case((6, 1025), "float32", pad=7, offset=1),
        Case((2, 5003), "float16", draw="constant", pad=5),
        Case((4_097, 17), "bfloat16", pad=5),
        Case((2, 8_192), "bfloat16", draw="extremes", offset=1),
    ),
    launched=Case((65_537, 3), "float32"),
    largest=(300, LONGEST // 2),
    inputs=unpack_inputs,
    reference=unpack,
    tolerance=Tolerance(terms=lambda case: 1, rounded_once=True),
    pictured=Case((2, 3), "float32"),
    scored=Scored(dtype="bfloat16", columns=4096),
    # Per byte: two signs of two operations each, and two products.
    flops=lambda case: 6 * case.elements,
    gates=Gates(passing=0.60, great=0.85),
    mistakes=UNPACK_MISTAKES,
)

SPEC = replace(QUANTIZE, also=(UNPACK,))
