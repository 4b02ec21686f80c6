"""out = dropout(x, p, seed) in numba CUDA, whose threads need a generator of their own."""

from grader.spec import (
    Case,
    Choice,
    Randomness,
    Spec,
    Tolerance,
    reads,
    scalar,
    seed,
    writes,
)


def inputs(case, draw):
    return {
        "x": draw.tensor(case.shape, extreme=1e6),
        "p": draw.number(0.1, 0.5),
        "seed": draw.seed(),
    }


def dropped(inputs):
    return {"out": inputs["x"] * 0}


def kept(inputs):
    return {"out": inputs["x"] / (1 - inputs["p"])}


SPEC = Spec(
    title="Dropout",
    summary="Drops elements at random and scales the others by 1 / (1 - p).",
    backend="numba",
    entry="dropout",
    arguments=(reads("x", at_most=1), scalar("p"), seed("seed"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "constant"),
    edges=(
        Case((1,), "float32"),
        Case((129,), "float32", offset=1),
        Case((700,), "float32", draw="constant"),
    ),
    largest=(1000,),
    most_elements=2**10,
    inputs=inputs,
    random=Randomness(
        choices=(
            Choice(name="dropped", probability=lambda inputs: inputs["p"], reference=dropped),
            Choice(name="kept", probability=lambda inputs: 1 - inputs["p"], reference=kept),
        ),
        case=Case((20_000,), "float32"),
    ),
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    hints=(
        "Hash the seed and the element's place: shifts, xors and products mix bits.",
        "A whole number of 32 bits is below p * 2**32 with the probability p.",
        "The elements that are kept are divided by 1 - p.",
    ),
)
