"""out = x + acc and acc = x or out, of every dtype that the backend takes, in each role."""

from grader.spec import (
    LARGEST,
    Case,
    Gates,
    Scored,
    Spec,
    Tolerance,
    reads,
    scalar,
    updates,
    writes,
)

DTYPES = ("float32", "float16", "int8", "int16", "int32", "int64", "uint8", "bool")


def inputs(case, draw):
    extreme = LARGEST[case.dtype] / 2 if "float" in case.dtype else None
    return {
        "x": draw.tensor(case.shape, extreme=extreme),
        "acc": draw.tensor(case.shape, extreme=extreme),
        "shift": draw.integer(0, 2),
        "keep": draw.truth(),
    }


def reference(inputs):
    x = inputs["x"].roll(-inputs["shift"])
    total = x + inputs["acc"]
    return {"out": total, "acc": x if inputs["keep"] else total}


def edges():
    for dtype in DTYPES:
        yield Case((1,), dtype)
        yield Case((129,), dtype, draw="extremes", offset=1)


SPEC = Spec(
    title="Every dtype",
    summary="Add two vectors, of which one is shifted.",
    backend="numba",
    entry="add",
    arguments=(
        reads("x"),
        updates("acc"),
        writes("out", like="x"),
        scalar("shift", "int"),
        scalar("keep", "bool"),
    ),
    dtypes=DTYPES,
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers", "spikes"),
    edges=tuple(edges()),
    largest=(200,),
    most_elements=200,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 2),
    counted=Case((1000,), "int8"),
    scored=Scored(dtype="int8"),
    memory_budget=lambda case: 1 << 20,
    gates=Gates(passing=0.1, great=0.9),
    hints=("Find the index.", "Check it.", "Store."),
)
