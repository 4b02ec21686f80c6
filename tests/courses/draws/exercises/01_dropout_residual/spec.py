"""out = residual + dropout(x, p, seed): each element of x is dropped with the probability p."""

from grader.spec import (
    Case,
    Choice,
    Gates,
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


def inputs(case, draw):
    return {
        "x": draw.tensor(case.shape, extreme=1e6),
        "residual": draw.tensor(case.shape, extreme=1e6),
        "p": draw.number(0.1, 0.5),
        "seed": draw.seed(),
    }


def dropped(inputs):
    return {"out": inputs["residual"]}


def kept(inputs):
    return {"out": inputs["residual"] + inputs["x"] / (1 - inputs["p"])}


def magnitude(inputs, expected):
    """Return the sum of the sizes of both terms, also where one was dropped."""
    return {"out": inputs["residual"].abs() + (inputs["x"] / (1 - inputs["p"])).abs()}


SPEC = Spec(
    title="Dropout and residual",
    summary="Drops elements of x at random, scales the others by 1 / (1 - p), adds the residual.",
    backend="triton",
    entry="dropout_residual",
    arguments=(
        reads("x"),
        reads("residual"),
        scalar("p"),
        seed("seed"),
        writes("out", like="x"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers", "constant"),
    edges=(
        Case((1, 1), "float32"),
        Case((3, 5), "float32", draw="integers"),
        Case((2, 1025), "float32"),
        Case((5, 257), "float32", pad=3, offset=1),
        Case((4, 700), "float32", draw="constant"),
    ),
    largest=(40, 2100),
    most_elements=2**14,
    strided=True,
    inputs=inputs,
    random=Randomness(
        choices=(
            Choice(name="dropped", probability=lambda inputs: inputs["p"], reference=dropped),
            Choice(name="kept", probability=lambda inputs: 1 - inputs["p"], reference=kept),
        ),
        case=Case((128, 1024), "float32"),
    ),
    tolerance=Tolerance(terms=lambda case: 2, magnitude=magnitude),
    mistakes=(
        Mistake(
            cause="not_rescaled",
            hint="Elements that are kept are divided by 1 - p, so that the mean stays.",
            reference=lambda inputs: {"out": inputs["residual"] + inputs["x"]},
        ),
    ),
    counted=Case((64, 1024), "float32"),
    scored=Scored(dtype="float32", columns=4096),
    gates=Gates(passing=0.6, great=0.9),
    hints=(
        "tl.rand(seed, places) gives a number in [0, 1) for each place.",
        "Give each element a place of its own: row * columns + column.",
        "tl.where chooses between x / (1 - p) and 0.",
    ),
)
