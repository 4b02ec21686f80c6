"""out = x / sqrt(mean(x²) + 1e-6) of each row, as fast as torch.compile's, or nearly so."""

from pathlib import Path

from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes


def reference(inputs):
    x = inputs["x"]
    return {"out": x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()}


SPEC = Spec(
    title="RMS",
    summary="Each row divided by the root of its mean square.",
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
    scored=Scored(
        dtype="float32",
        columns=4096,
        bound="reference",
        against=Path(__file__).with_name("eager.py"),
        compiled=True,
    ),
    gates=Gates(passing=0.87, great=1.0),  # at most 1.15 times its time
    hints=("Give each row a program.", "Add up the squares.", "Multiply by the root."),
)
