"""out[row] = the sum of the row's first lengths[row] elements: data decide what must be read."""

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def inputs(case, draw):
    rows, columns = case.shape
    return {"x": draw.tensor(case.shape), "lengths": draw.indices(rows, below=columns) + 1}


def asked(inputs):
    """Return the bytes of all elements that lie within the length of their row."""
    return int(inputs["lengths"].sum()) * inputs["x"].element_size()


def kept(inputs):
    columns = inputs["lengths"].new_ones(inputs["x"].shape).cumsum(-1)
    return inputs["x"].masked_fill(columns > inputs["lengths"].unsqueeze(-1), 0.0)


SPEC = Spec(
    title="Ragged sum",
    summary="The sum of each row, up to its own length.",
    backend="triton",
    entry="ragged_sum",
    arguments=(
        reads("x", bytes=asked),
        reads("lengths", at_most=None),
        writes("out", like="lengths", dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(Case((1, 1), "float32"), Case((7, 300), "float32", draw="integers")),
    largest=(40, 700),
    most_elements=2**14,
    inputs=inputs,
    reference=lambda inputs: {"out": kept(inputs).sum(-1)},
    tolerance=Tolerance(
        terms=lambda case: case.shape[-1],
        magnitude=lambda inputs, expected: {"out": kept(inputs).double().abs().sum(-1)},
        exact=("integers",),
    ),
    counted=Case((64, 1024), "float32"),
    scored=Scored(dtype="float32", columns=8192),
    gates=Gates(passing=0.6, great=0.9),
    hints=("Give each row a program.", "Load its length first.", "End the loop there."),
)
