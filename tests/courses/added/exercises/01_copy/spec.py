"""out = x, thread by thread."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Copy at speed",
    summary="Each thread moves one element.",
    backend="numba",
    entry="copy",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((65,), "float32")),
    largest=(100,),
    most_elements=100,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": inputs["x"]},
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((100,), "float32"),
    scored=Scored(dtype="float32", bound="calls"),
    gates=Gates(passing=0.5, great=0.9),
    hints=("Which thread am I?", "Am I inside?", "Move one element."),
)
