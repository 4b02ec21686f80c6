"""Prefix sum: every thread needs the sum of all before it, in few steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

THREADS = 32  # in a block: part of the task, for each block begins anew


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def sums(values: Tensor) -> Tensor:
    """The sums up to each place, begun anew in each group of THREADS elements."""
    out = values.clone()
    for start in range(0, values.shape[0], THREADS):
        out[start : start + THREADS] = values[start : start + THREADS].cumsum(0)
    return out


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": sums(inputs["a"])}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a|: rounding errors scale with the terms, which may cancel."""
    return {"out": sums(inputs["a"].abs())}


SPEC = Spec(
    title="Prefix sum",
    summary="At each place, the sum of all elements of the block up to there, in five steps.",
    needs=("p12_dot",),
    backend="numba",
    entry="prefix_sum",
    arguments=(reads("a"), writes("out", like="a")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    # A block has 32 elements, and its steps are 1, 2, 4, 8 and 16.
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32"),
        Case((3,), "float32", draw="integers"),
        Case((17,), "float32"),
        Case((31,), "float32"),
        Case((32,), "float32", offset=1),
        Case((33,), "float32"),
        Case((80,), "float32", draw="integers"),
        Case((100,), "float32"),
        Case((1025,), "float32"),  # more blocks than a block has threads
    ),
    largest=(100,),
    most_elements=100,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: THREADS, magnitude=magnitude, exact=("integers",)),
    counted=Case((93,), "float32"),
    budgets=(
        # An element for each thread; two where half of the threads do the work of all.
        Budget("global_reads", most=2, best=1),
        Budget("shared_reads", most=12, best=5),
    ),
    pictured=Case((40,), "float32", draw="integers"),
    hints=(
        "Every thread does the same in each step: to its own number it adds the one `by` places "
        "back, if there is one. `by` is 1, 2, 4 and so on: `by *= 2` at the end of a loop.",
        "In a step, a thread reads a number that another thread is about to change. So all read "
        "first, each into a variable of its own. Then all wait, and only then they write.",
        "`before = float32(0.0)`, and `if t >= by`: `before = shared[t - by]`. Then a barrier, "
        "then `shared[t] += before`, then another barrier. Both are outside of the `if`.",
        "Around that: `by = 1`, then `while by < THREADS`, with `by *= 2` as the last line "
        "of the loop.",
    ),
    limits=Limits(call_s=10),
)
