"""out = x + y in CUDA C++."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Vector add",
    summary="The sum of two vectors, in CUDA C++.",
    backend="cuda",
    entry="vector_add",
    arguments=(reads("x"), reads("y"), writes("out", like="x")),
    dtypes=("float32", "bfloat16"),
    draws=("rows", "integers"),
    edges=(Case((1,), "float32"), Case((129,), "bfloat16")),
    largest=(5000,),
    most_elements=5000,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape), "y": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": inputs["x"] + inputs["y"]},
    tolerance=Tolerance(terms=lambda case: 2),
    counted=Case((1000,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.8, great=0.92),
    hints=(
        "Which element does a thread add?",
        "Its number is blockIdx.x * blockDim.x + threadIdx.x.",
        "Add only where that is less than n.",
    ),
)
