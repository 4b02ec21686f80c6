"""out = 1 + x + x² + … + x²⁵⁶: 512 operations for each 8 bytes, so arithmetic is the limit."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

DEGREE = 256


def reference(inputs):
    x = inputs["x"]
    total = x.new_ones(x.shape)
    for _ in range(DEGREE):
        total = total * x + 1
    return {"out": total}


SPEC = Spec(
    title="Polynomial",
    summary="A polynomial of degree 256 of each element, by Horner's rule.",
    backend="triton",
    entry="polynomial",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(Case((1,), "float32"), Case((1025,), "float32")),
    largest=(5000,),
    most_elements=2**13,
    # Between -0.9 and 0.9: the sum stays below 10.
    inputs=lambda case, draw: {"x": draw.tensor(case.shape).tanh() * 0.9},
    reference=reference,
    # Each step multiplies what was rounded before by at most 0.9: errors of ten steps are left.
    tolerance=Tolerance(terms=lambda case: 10),
    counted=Case((4096,), "float32"),
    flops=lambda case: 2 * DEGREE * case.elements,
    scored=Scored(dtype="float32", bound="arithmetic"),
    gates=Gates(passing=0.5, great=0.9),
    hints=("Which elements has a program?", "Multiply by x and add 1.", "Do so 256 times."),
)
