"""out = 2 * x, in Triton or in CUDA C++."""

from grader.spec import Budget, Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Double",
    summary="Twice a vector.",
    backend="triton",
    also_in=("cuda",),
    entry="double",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(Case((1,), "float32"), Case((129,), "float32")),
    largest=(2000,),
    most_elements=2000,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": 2 * inputs["x"]},
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    budgets=(Budget("programs", most=1, best=1),),
    points={"counts": 2},
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.3, great=0.9),
    hints=(
        "Which elements does a program double?",
        "Its number tells.",
        "Store only where the number is less than n.",
    ),
)
