"""A loop over blocks: rows longer than a block, and two accumulators of a value for each lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """In the distribution `ties` all elements lie far below 0."""
    x = draw.tensor(case.shape)
    return {"x": x.sub_(200) if case.draw == "ties" else x}


def rows(inputs: Inputs) -> tuple[int, ...]:
    return (inputs["x"].shape[0],)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"total": inputs["x"].sum(-1), "highest": inputs["x"].amax(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |x|, whose terms may cancel; the largest element needs no rounding."""
    return {"total": inputs["x"].abs().sum(-1), "highest": expected["highest"].abs()}


SPEC = Spec(
    title="A loop over blocks",
    summary="The sum and the maximum of each row, in one loop over blocks of columns.",
    needs=("t04_reduction",),
    backend="triton",
    entry="sum_and_max",
    arguments=(
        reads("x"),
        writes("total", shape=rows, dtype="float32"),
        writes("highest", shape=rows, dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows", "integers", "ties"),
    # A block has 128 lanes.
    edges=(
        Case((1, 1), "float32"),
        Case((2, 2), "float32", draw="integers"),
        Case((3, 5), "float32", draw="ties"),
        Case((2, 127), "float32"),
        Case((2, 128), "float32", draw="integers"),
        Case((2, 129), "float32", draw="ties"),
        Case((3, 256), "float32", offset=1),
        Case((2, 385), "float32", draw="integers"),
        Case((40, 3), "float32"),
        Case((1, 4095), "float32", draw="integers"),
    ),
    largest=(40, 1000),
    most_elements=2000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: case.shape[-1], magnitude=magnitude, exact=("integers",)
    ),
    counted=Case((3, 1000), "float32"),
    # 1,000 columns fill 7 blocks of 128, and 104 lanes of one more.
    budgets=(
        Budget("programs", most=3, best=3),
        Budget("loads", most=8, best=8),
        Budget("stores", most=2, best=2),
    ),
    pictured=Case((2, 150), "float32", draw="integers"),
    hints=(
        "`for start in range(0, columns, 128)` walks along the row, and `offsets = start + lanes` "
        "are the columns of one block. Those below `columns` exist.",
        "Before the loop: `sums = tl.zeros((128,), tl.float32)` for the sums, and "
        '`maxima = tl.full((128,), float("-inf"), tl.float32)` for the maxima.',
        'In the loop load a block with `other=float("-inf")`. Then '
        "`maxima = tl.maximum(maxima, x)` compares lane by lane, and "
        "`sums += tl.where(offsets < columns, x, 0.0)` adds.",
        "After the loop reduce once: `tl.store(total_ptr + row, tl.sum(sums, axis=0))`, and "
        "likewise `tl.max(maxima, axis=0)` to `highest_ptr + row`.",
    ),
    limits=Limits(call_s=10),
)
