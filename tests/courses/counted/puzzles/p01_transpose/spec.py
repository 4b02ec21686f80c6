"""out = x transposed, tile by tile through shared memory: graded on every count there is."""

from grader.spec import Budget, Case, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Transpose",
    summary="Rows become columns, and memory is moved in whole pieces all the same.",
    backend="numba",
    entry="transpose",
    arguments=(
        reads("x"),
        writes("out", shape=lambda inputs: tuple(inputs["x"].shape[::-1]), dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("integers",),
    edges=(Case((1, 1), "float32"), Case((3, 5), "float32", draw="integers")),
    largest=(40, 40),
    most_elements=1600,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": inputs["x"].t()},
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",)),
    # One tile. Its 1024 elements of 4 bytes are 128 pieces of 32 bytes.
    counted=Case((32, 32), "float32"),
    pictured=Case((2, 3), "float32", draw="integers"),
    budgets=(
        Budget("transactions", most=256, best=256),
        Budget("bank_conflicts", most=0, best=0),
        Budget("global_reads", most=1, best=1),
        Budget("global_writes", most=1, best=1),
        Budget("shared_reads", most=1, best=1),
        Budget("shared_writes", most=1, best=1),
        Budget("barriers", most=1, best=1),
    ),
    hints=("Read rows.", "Write rows.", "Between them, a tile and a barrier."),
)
