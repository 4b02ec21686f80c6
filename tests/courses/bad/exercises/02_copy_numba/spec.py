"""out = x, in one dimension, with numba. Its time limits are short."""

from grader.spec import Case, Gates, Limits, Scored, Spec, Tolerance, reads, writes


def inputs(case, draw):
    return {"x": draw.tensor(case.shape)}


def reference(inputs):
    return {"out": inputs["x"]}


SPEC = Spec(
    title="Copy with numba",
    summary="Copy a vector.",
    backend="numba",
    entry="copy",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((3,), "float32"), Case((33,), "float32")),
    largest=(40,),
    most_elements=40,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.8, great=0.9),
    memory_budget=lambda case: 2**20,
    hints=("Find the index.", "Check it.", "Store."),
    limits=Limits(load_s=2.0, call_s=2.0),
)
