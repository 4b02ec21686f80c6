"""Dropout and residual: out = residual + x / (1 - p), or residual where x is dropped at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Choice,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Randomness,
    Scored,
    Spec,
    Tolerance,
    reads,
    scalar,
    seed,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two vectors, a probability and a seed. Twice the sum is finite, too, which a law needs.

    A case of whole numbers drops half of x, and doubles the other half: float32 holds each output
    exactly.
    """
    eighth = LARGEST[case.dtype] / 8
    return {
        "x": draw.tensor(case.shape, extreme=eighth),
        "residual": draw.tensor(case.shape, extreme=eighth),
        "p": 0.5 if case.draw == "integers" else draw.number(0.1, 0.5),
        "seed": draw.seed(),
    }


def scaled(inputs: Inputs) -> Tensor:
    """Return what a kept element of x becomes."""
    return inputs["x"] / (1 - inputs["p"])


def dropped(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["residual"]}


def kept(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["residual"] + scaled(inputs)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """|residual| + |x / (1 - p)|, also where x is dropped: the two may cancel, errors do not.

    A GPU may flush an x below 2**-126 to 0, and the division at most doubles the loss. The limit is
    11 * 2**-24 times the magnitude, so 2**-102 in it permits more.
    """
    return {"out": inputs["residual"].abs() + scaled(inputs).abs() + 2.0**-102}


MISTAKES = (
    Mistake(
        cause="factor",
        hint="Elements that are kept stay as they are: divide them by 1 - p, so that the mean of "
        "x is the same with and without dropout.",
        reference=lambda inputs: {"out": inputs["residual"] + inputs["x"]},
        near=(r"where\(", r"store\("),
    ),
    Mistake(
        cause="factor",
        hint="Kept elements are multiplied by 1 - p: divide by it.",
        reference=lambda inputs: {"out": inputs["residual"] + inputs["x"] * (1 - inputs["p"])},
        near=(r"1(\.0)? - p", r"where\("),
    ),
    Mistake(
        cause="factor",
        hint="Kept elements are divided by p: divide by 1 - p, the share that is kept.",
        reference=lambda inputs: {"out": inputs["residual"] + inputs["x"] / inputs["p"]},
        near=(r"/ p\b", r"where\("),
    ),
    Mistake(
        cause="sign",
        hint="What is left of x is subtracted from residual: add it.",
        reference=lambda inputs: {"out": inputs["residual"] - scaled(inputs)},
        near=(r"residual\w* -", r"store\("),
    ),
    Mistake(
        cause="formula",
        hint="Where x is dropped, the residual is dropped with it: the output there is residual.",
        reference=lambda inputs: {"out": inputs["residual"] * 0},
        near=(r"where\(", r"store\("),
    ),
)


SPEC = Spec(
    title="Dropout and residual",
    summary="Drop elements at random by a counter: the same seed gives the same ones, unstored.",
    needs=("01_vector_add",),
    backend="triton",
    entry="dropout_residual",
    arguments=(
        reads("x"),
        reads("residual"),
        scalar("p"),
        seed("seed"),
        writes("out", like="x"),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float16"),
        Case((3,), "bfloat16"),
        Case((13,), "float32", draw="denormals"),
        Case((127,), "float16", draw="extremes"),
        Case((127,), "bfloat16", draw="ties"),
        Case((128,), "bfloat16", draw="integers"),
        Case((129,), "float32", draw="constant", offset=1),
        Case((1023,), "bfloat16", draw="extremes"),
        Case((1024,), "float32"),
        Case((1025,), "float16", offset=1),
        Case((2048,), "bfloat16", draw="denormals", offset=1),
        Case((4099,), "float32", draw="constant"),
        Case((10_007,), "float32", draw="integers"),
        Case((65_537,), "float16", draw="ties", offset=1),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**16,
    inputs=inputs,
    random=Randomness(
        choices=(
            Choice(name="dropped", probability=lambda inputs: inputs["p"], reference=dropped),
            Choice(name="kept", probability=lambda inputs: 1 - inputs["p"], reference=kept),
        ),
        case=Case((131_072,), "float32"),
    ),
    # A quotient and a sum: two terms.
    tolerance=Tolerance(terms=lambda case: 2, magnitude=magnitude, exact=("integers",)),
    pictured=Case((2060,), "float32", draw="integers"),
    counted=Case((9001,), "bfloat16"),
    scored=Scored(dtype="bfloat16"),
    # The comparison, the product and the sum of an element. What the generator takes is its own.
    flops=lambda case: 3 * case.elements,
    # A kernel with a number for each counter and element is at the
    # limit of instructions on an H100, and on an H200 at most at 0.75. Torch's dropout and addition
    # move 11 bytes an element, 6 / 11 = 0.55.
    gates=Gates(passing=0.60, great=0.90),
    # Ten in all, with the two of randomness.
    points={"correctness": 2, "properties": 1},
    hints=(
        "Begin with the kernel of 01_vector_add: x and residual take the place of its two inputs. "
        "`tl.rand(seed, places)` draws a number for each place, and `tl.where` chooses by it.",
        "A number in [0, 1) is below p with the probability p. Drop those elements, and divide the "
        "others by 1 - p. The residual stays as it is, wherever x is dropped.",
        "The place of an element is its index in the whole vector, never in the block. The seed is "
        "the first argument of the generator, and is not added to the place.",
        "For the speed: one call of `tl.rand4x` gives four numbers for each counter with the work "
        "of one. A block of BLOCK elements needs BLOCK // 4 counters. Interleave first with third, "
        "second with fourth, and then both results: the numbers are in the order of the elements.",
    ),
    mistakes=MISTAKES,
)
