"""out = x / sqrt(mean(x²) + 1e-6) of one row: so little work that launching it takes the time."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def reference(inputs):
    x = inputs["x"]
    return {"out": x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()}


SPEC = Spec(
    title="RMS of one row",
    summary="A row divided by the root of its mean square, as soon as possible.",
    backend="triton",
    entry="rms",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(Case((1, 1), "float32"), Case((7, 300), "float32", draw="integers")),
    largest=(40, 700),
    most_elements=2**14,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1]),
    counted=Case((64, 1024), "float32"),
    scored=Scored(dtype="float32", rows=1, columns=1024, bound="latency"),
    gates=Gates(passing=0.4, great=0.9),
    hints=("Give the row a program.", "Add up the squares.", "Multiply by the root."),
)
