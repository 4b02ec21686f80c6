"""out = x, row by row: the smallest task with strides. Its time limits are short."""

from grader.spec import Case, Gates, Limits, Scored, Spec, Tolerance, reads, writes


def inputs(case, draw):
    return {"x": draw.tensor(case.shape)}


def reference(inputs):
    return {"out": inputs["x"]}


SPEC = Spec(
    title="Copy",
    summary="Copy a matrix.",
    backend="triton",
    entry="copy",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32", "float16"),
    draws=("rows",),
    edges=(Case((1, 1), "float32"), Case((2, 3), "float16", pad=1), Case((3, 130), "float32")),
    largest=(4, 200),
    most_elements=400,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((3, 500), "float32"),
    scored=Scored(dtype="float32", columns=1024),
    gates=Gates(passing=0.8, great=0.9),
    memory_budget=lambda case: 2**20,
    hints=("Load a row.", "Mask its end.", "Store it."),
    strided=True,
    kernels=False,  # many a bad file copies with torch
    limits=Limits(load_s=2.0, call_s=2.0),
)
