"""out = a · b for matrices: far more operations than bytes, and a first extent that is fixed."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def inputs(case, draw):
    rows, columns = case.shape
    return {"a": draw.tensor((rows, columns)), "b": draw.tensor((columns, columns))}


SPEC = Spec(
    title="Product",
    summary="The product of two matrices.",
    backend="triton",
    entry="product",
    arguments=(
        reads("a", at_most=None),
        reads("b", at_most=None),
        writes("out", like="a"),
    ),
    dtypes=("bfloat16",),
    draws=("rows", "integers"),
    edges=(Case((1, 1), "bfloat16"), Case((70, 40), "bfloat16", draw="integers")),
    largest=(100, 100),
    most_elements=2**13,
    inputs=inputs,
    reference=lambda inputs: {"out": inputs["a"] @ inputs["b"]},
    tolerance=Tolerance(
        terms=lambda case: case.shape[-1],
        magnitude=lambda inputs, expected: {
            "out": inputs["a"].double().abs() @ inputs["b"].double().abs()
        },
    ),
    counted=Case((64, 64), "bfloat16"),
    independent_rows=False,
    flops=lambda case: 2 * case.shape[0] * case.shape[1] ** 2,
    scored=Scored(dtype="bfloat16", rows=8192, columns=4096, bound="arithmetic"),
    gates=Gates(passing=0.4, great=0.9),
    hints=("Give each program a tile.", "Go along the inner extent.", "Use tl.dot."),
)
