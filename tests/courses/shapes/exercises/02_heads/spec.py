"""out = x · scale for each head of a batch: a tensor of four dimensions."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Heads",
    summary="Each head of each batch has a scale of its own.",
    backend="triton",
    entry="heads",
    arguments=(reads("x"), reads("scale", at_most=None), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    strided=True,
    edges=(
        Case((1, 1, 1, 1), "float32"),
        Case((2, 3, 5, 7), "float32", draw="integers", pad=3),
        Case((2, 4, 33, 64), "float32", offset=1),
    ),
    largest=(3, 4, 40, 100),
    most_elements=2**14,
    inputs=lambda case, draw: {
        "x": draw.tensor(case.shape),
        "scale": draw.tensor(case.shape[:2]),
    },
    reference=lambda inputs: {"out": inputs["x"] * inputs["scale"][:, :, None, None]},
    tolerance=Tolerance(terms=lambda case: 1, rounded_once=True),
    counted=Case((2, 3, 20, 100), "float32"),
    scored=Scored(dtype="float32", columns=(8, 256, 128)),
    gates=Gates(passing=0.6, great=0.9),
    hints=("Give each row a program.", "Find its head and batch.", "Load the scale once."),
)
