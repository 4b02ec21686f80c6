"""Warp shuffle: threads of one warp hand each other their values, with no memory between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

LANES = 32  # threads in a warp


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"a": draw.tensor(case.shape)}


def warps(elements: int) -> int:
    return (elements + LANES - 1) // LANES


def by_warp(a: Tensor) -> Tensor:
    """One row for each warp, filled up with zeros after the end."""
    full = a.new_zeros(warps(a.numel()) * LANES)
    full[: a.numel()] = a
    return full.reshape(-1, LANES)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": by_warp(inputs["a"]).sum(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |a|: terms may cancel, their rounding errors do not."""
    return {"out": by_warp(inputs["a"]).abs().sum(-1)}


SPEC = Spec(
    title="Warp shuffle",
    summary="Add up the 32 values of each warp with shuffles, without shared memory.",
    needs=("p12_dot",),
    backend="numba",
    entry="warp_sums",
    arguments=(
        reads("a"),
        writes("out", shape=lambda inputs: (warps(inputs["a"].numel()),), dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32"),
        Case((16,), "float32", offset=1),
        Case((31,), "float32"),
        Case((32,), "float32", draw="integers"),
        Case((33,), "float32"),
        Case((64,), "float32"),
        Case((65,), "float32", draw="integers"),
        Case((96,), "float32", offset=1),
        Case((127,), "float32"),
        Case((211,), "float32"),
    ),
    largest=(300,),
    most_elements=300,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: LANES, magnitude=magnitude, exact=("integers",)),
    counted=Case((160,), "float32"),
    budgets=(
        Budget("global_reads", most=1, best=1),  # an element for each lane
        Budget("shared_reads", most=0, best=0),
        Budget("shared_writes", most=0, best=0),
        Budget("barriers", most=0, best=0),
    ),
    pictured=Case((33,), "float32", draw="integers"),
    hints=(
        "It is the tree of puzzle 12: in each step a value comes from half as far away. Only the "
        "way is new: no shared array and no barrier, for the shuffle brings the value.",
        "Start with `by = 16`. In each step every thread of the warp calls "
        "`cuda.shfl_down_sync(EVERY_LANE, value, by)`, adds what it gets to its own value, and "
        "halves `by`, until `by` is 0.",
        "After the loop lane 0 has the sum, and the other lanes have numbers of no use. So: "
        "`if lane == 0 and i < a.size:` and in it `out[i // 32] = value`.",
        "`by = 16`, then `while by > 0:` with the two lines "
        "`value += cuda.shfl_down_sync(EVERY_LANE, value, by)` and `by //= 2` in it.",
    ),
    independent_rows=False,
    limits=Limits(call_s=10),
)
