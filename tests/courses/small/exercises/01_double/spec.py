"""out = 2 * x, in one dimension."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def inputs(case, draw):
    return {"x": draw.tensor(case.shape)}


def reference(inputs):
    return {"out": 2 * inputs["x"]}


SPEC = Spec(
    title="Double",
    summary="The smallest kernel: twice a vector.",
    backend="triton",
    entry="double",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32", "float16"),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((7,), "float16")),
    largest=(1000,),
    most_elements=1000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.8, great=0.9),
    memory_budget=lambda case: 2**20,
    hints=("Load a block.", "Multiply it by two.", "Store it where the mask allows."),
)
