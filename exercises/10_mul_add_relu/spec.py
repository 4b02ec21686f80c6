"""Multiply, add, relu: out = max(x * scale + y, 0), three elementwise operations in one kernel."""

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
    scalar,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two vectors and a factor. Twice the sum is finite, too, which a law needs.

    A case of whole numbers has a whole factor, so that float32 holds each output exactly.
    """
    whole = case.draw == "integers"
    scale = float(draw.integer(-3, 3)) if whole else draw.factor(80.0)
    quarter = LARGEST[case.dtype] / 4
    x = draw.tensor(case.shape, extreme=quarter / max(1.0, abs(scale)))
    y = draw.tensor(case.shape, extreme=quarter)
    # Numbers around 8 would all pass the relu, and those around -8 would all become 0. With the
    # signs + + - - of x and + - + - of y, a quarter of the sums has either sign in each case.
    x[2::4].neg_()
    x[3::4].neg_()
    y[1::2].neg_()
    return {"x": x, "y": y, "scale": scale}


def scaled_sum(inputs: Inputs) -> Tensor:
    """Return what the relu is applied to."""
    return inputs["x"] * inputs["scale"] + inputs["y"]


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": scaled_sum(inputs).relu()}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|x * scale| + |y|: the two may cancel, their rounding errors do not.

    A GPU may flush an x below 2**-126 to 0, and scale enlarges the loss: the limit is 11 * 2**-24
    times the magnitude, so 2**-102 * |scale| in it permits more than 2**-126 * |scale|.
    """
    factor = abs(inputs["scale"])
    return {"out": (inputs["x"].abs() + 2.0**-102) * factor + inputs["y"].abs()}


def nearly_cancelling(inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark sums that are less than half as large as their terms together."""
    terms = (inputs["x"] * inputs["scale"]).abs() + inputs["y"].abs()
    return {"out": scaled_sum(inputs).abs() < terms / 2}


MISTAKES = (
    Mistake(
        cause="formula",
        hint="The relu is missing: the output is x * scale + y, with its negative values.",
        reference=lambda inputs: {"out": scaled_sum(inputs)},
        near=(r"store\(",),
    ),
    Mistake(
        cause="formula",
        hint="The relu comes before the addition of y: add y first, then replace what is below 0.",
        reference=lambda inputs: {"out": (inputs["x"] * inputs["scale"]).relu() + inputs["y"]},
        near=(r"maximum\(|where\(|clamp\(", r"\+ *\w*y"),
    ),
    Mistake(
        cause="formula",
        hint="scale multiplies the sum of x and y: it belongs to x alone, x * scale + y.",
        reference=lambda inputs: {"out": ((inputs["x"] + inputs["y"]) * inputs["scale"]).relu()},
        near=(r"\* *scale|scale *\*",),
    ),
    Mistake(
        cause="swapped_arguments",
        hint="scale multiplies y: it belongs to x, x * scale + y.",
        reference=lambda inputs: {"out": (inputs["x"] + inputs["y"] * inputs["scale"]).relu()},
        near=(r"\* *scale|scale *\*",),
    ),
    Mistake(
        cause="formula",
        hint="The output is max(x + y, 0): where does scale multiply x?",
        reference=lambda inputs: {"out": (inputs["x"] + inputs["y"]).relu()},
        near=(r"maximum\(|where\(|clamp\(", r"\+"),
    ),
    Mistake(
        cause="formula",
        hint="Negative sums come out with their sign turned round, as abs does it: relu makes 0 of "
        "them.",
        reference=lambda inputs: {"out": scaled_sum(inputs).abs()},
        near=(r"abs\(|-",),
    ),
    Mistake(
        cause="formula",
        hint="The output is the smaller of the sum and 0. relu takes the larger: tl.maximum.",
        reference=lambda inputs: {"out": scaled_sum(inputs).clamp(max=0)},
        near=(r"minimum\(|where\(|clamp\(",),
    ),
    Mistake(
        cause="precision",
        hint="Only elements are wrong in which x * scale and y nearly cancel: an intermediate has "
        "fewer digits than float32. Convert what you load with .to(tl.float32), and round once, in "
        "the store.",
        only=nearly_cancelling,
        near=(r"\.to\((?!tl\.(float32|int64))|float16", r"\* *scale|scale *\*"),
    ),
)


SPEC = Spec(
    title="Multiply, add, relu",
    summary="Fuse three elementwise operations, so that no intermediate goes to memory.",
    needs=("01_vector_add",),
    backend="triton",
    entry="mul_add_relu",
    arguments=(reads("x"), reads("y"), scalar("scale"), writes("out", like="x")),
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
        Case((4099,), "float16", draw="constant"),
        Case((10007,), "float32", draw="integers"),
        Case((30011,), "bfloat16"),
        Case((32_768,), "float16", draw="denormals"),
        Case((65_537,), "float16", draw="ties", offset=1),
        Case((262_147,), "bfloat16", draw="extremes"),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**20,
    inputs=inputs,
    reference=reference,
    # A product and a sum: two terms.
    tolerance=Tolerance(terms=lambda case: 2, magnitude=magnitude, exact=("integers",)),
    pictured=Case((1030,), "float32", draw="integers"),
    counted=Case((5003,), "float32"),
    scored=Scored(dtype="float32"),
    # A product, an addition and a comparison per element.
    flops=lambda case: 3 * case.elements,
    # Those of 01_vector_add: its kernel moves as many bytes in the same mix, two reads and a write.
    # On an H100 the solution reaches 0.998 of the ceiling.
    gates=Gates(passing=0.85, great=0.97),
    hints=(
        "Begin with the kernel of 01_vector_add: offsets, one mask, two loads, one store. Only the "
        "lines between the loads and the store are new.",
        "Keep each intermediate in a Python variable of the kernel: `product = x * scale`. A "
        "variable is a block in registers. Memory moves only in tl.load and tl.store.",
        "Convert both loaded blocks with `.to(tl.float32)`, compute `x * scale + y`, and let the "
        "store round once. In 16 bits, each operation would round.",
        "relu keeps NaN: `tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)`. Without the "
        "last argument, a NaN becomes 0.",
    ),
    mistakes=MISTAKES,
)
