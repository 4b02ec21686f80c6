"""Scale each column by a weight, forward and backward: two entries in one file."""

from dataclasses import replace

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def forward_inputs(case, draw):
    return {"x": draw.tensor(case.shape), "weight": draw.tensor(case.shape[-1:])}


def forward(inputs):
    return {"out": inputs["x"] * inputs["weight"]}


def backward_inputs(case, draw):
    return {"grad_out": draw.tensor(case.shape), **forward_inputs(case, draw)}


def backward(inputs):
    grad_out = inputs["grad_out"]
    return {
        "grad_x": grad_out * inputs["weight"],
        "grad_weight": (grad_out * inputs["x"]).sum(0),
    }


def summed(inputs, expected):
    """The size of the terms of each sum: they may cancel."""
    terms = (inputs["grad_out"].double() * inputs["x"].double()).abs()
    return {"grad_x": expected["grad_x"].abs(), "grad_weight": terms.sum(0)}


FORWARD = Spec(
    title="Scale",
    summary="Multiply each column by its weight, and carry gradients back through it.",
    backend="triton",
    entry="scale",
    arguments=(reads("x"), reads("weight", at_most=None), writes("out", like="x")),
    dtypes=("float32", "float16"),
    draws=("rows",),
    edges=(Case((1, 1), "float32"), Case((3, 257), "float16"), Case((5, 520), "float32")),
    largest=(8, 700),
    most_elements=2000,
    inputs=forward_inputs,
    reference=forward,
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((7, 300), "float32"),
    pictured=Case((2, 5), "float32"),
    scored=Scored(dtype="float32", columns=2**19),
    gates=Gates(passing=0.3, great=0.9),
    independent_rows=False,  # all rows share the weights
    memory_budget=lambda case: 2**20,
    hints=("Load a block.", "Multiply by the block's weights.", "Sum over the rows, backward."),
)
BACKWARD = replace(
    FORWARD,
    entry="scale_backward",
    arguments=(
        reads("grad_out"),
        reads("x"),
        reads("weight", at_most=None),
        writes("grad_x", like="x"),
        writes("grad_weight", like="weight", dtype="float32"),
    ),
    inputs=backward_inputs,
    reference=backward,
    tolerance=Tolerance(terms=lambda case: case.shape[0], magnitude=summed),
    gates=Gates(passing=0.2, great=0.8),
    points={"correctness": 4},
)
SPEC = replace(FORWARD, also=(BACKWARD,))
