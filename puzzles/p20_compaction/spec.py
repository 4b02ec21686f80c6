"""Stream compaction: a prefix sum tells each thread how many others come before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """In the distribution `constant` all are positive, in `ties` none, in the others some."""
    a = draw.tensor(case.shape)
    if case.draw == "constant":
        a = a.abs_()
    elif case.draw == "ties":
        a = a.abs_().neg_()
    elif case.draw == "rows":
        a = a.sub_(a.mean())
    return {"a": a}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    a = inputs["a"]
    kept = a[a > 0]
    out = a.new_zeros(a.shape)
    out[: kept.numel()] = kept
    return {"out": out}


SPEC = Spec(
    title="Stream compaction",
    summary="Keep the positive elements, in order and without gaps.",
    needs=("p14_prefix_sum",),
    backend="numba",
    entry="keep_positive",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers", "constant", "ties"),
    edges=(
        Case((1,), "float32", draw="constant"),
        Case((2,), "float32"),
        Case((3,), "float32", draw="integers"),
        Case((8,), "float32", offset=1),
        Case((31,), "float32", draw="constant"),
        Case((32,), "float32", draw="integers"),
        Case((33,), "float32"),
        Case((40,), "float32", draw="ties"),
        Case((63,), "float32", draw="integers"),
        Case((64,), "float32", draw="constant"),
        Case((64,), "float32"),
    ),
    largest=(64,),
    most_elements=64,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("rows", "integers", "constant", "ties")),
    counted=Case((61,), "float32"),
    # A thread looks at one element, and stores that and a zero; in other orders, one of the two.
    budgets=(Budget("global_reads", most=1, best=1), Budget("global_writes", most=2, best=1)),
    pictured=Case((10,), "float32", draw="integers"),
    hints=(
        "The place of a kept value is the number of kept values before it. Give each thread a 1 if "
        "it keeps its value, else a 0: a running sum of these counts the kept ones.",
        "`counts[t] = 0`, and `counts[t] = 1` where `value > 0`. Then all threads call "
        "`running_sums(counts)`, which is written and has its barriers.",
        "Now `counts[t]` counts the value itself, too. So it goes to `out[counts[t] - 1]`, if it "
        "is kept.",
        "`counts[THREADS - 1]` is how many are kept in all. The threads with that number "
        "or a larger one, and below `out.size`, have a place to fill with 0.",
    ),
    independent_rows=False,
    limits=Limits(call_s=10),
)
