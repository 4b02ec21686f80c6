"""out = 2 x, number by number, in the course's own language."""

from grader.spec import Case, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Double",
    summary="Each program doubles one number.",
    backend="toy",
    entry="double",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((5,), "float32")),
    largest=(20,),
    most_elements=20,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": 2 * inputs["x"]},
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((10,), "float32"),
    hints=("Which number am I?", "Read one number.", "Double it."),
)
