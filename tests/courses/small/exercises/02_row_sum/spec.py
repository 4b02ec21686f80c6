"""out[i] = scale * sum of x[i, :], with an int64 count that the kernel updates."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, scalar, updates, writes


def inputs(case, draw):
    rows, _ = case.shape
    return {
        "x": draw.tensor(case.shape),
        "count": draw.indices(rows, 9),
        "scale": draw.number(0.5, 2.0),
    }


def reference(inputs):
    return {"out": inputs["scale"] * inputs["x"].sum(-1), "count": inputs["count"] + 1}


SPEC = Spec(
    title="Row sum",
    summary="One number for each row.",
    backend="triton",
    entry="row_sum",
    arguments=(
        reads("x"),
        updates("count"),
        writes("out", like="count", dtype="float32"),
        scalar("scale"),
    ),
    dtypes=("bfloat16",),
    draws=("rows",),
    edges=(Case((1, 1), "bfloat16"),),
    largest=(10, 1000),
    most_elements=1000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[1]),
    counted=Case((3, 500), "bfloat16"),
    scored=Scored(dtype="bfloat16", columns=1024),
    gates=Gates(passing=0.425, great=0.9),
    memory_budget=lambda case: 2 * case.elements,
    hints=("One program a row.", "Sum in float32.", "Scale at the end.", "Count."),
    strided=True,
    kernels=False,  # its solution is torch's
)
