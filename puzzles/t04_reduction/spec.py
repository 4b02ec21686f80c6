"""Reduction: one program for each row, and rows with fewer elements than lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Mistake, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

LANES = 64


def inputs(case: Case, draw: Draw) -> Inputs:
    """In the distribution `ties` all elements lie above 0; in `sunken` all lie far below it."""
    x = draw.tensor(case.shape)
    return {"x": x.abs_().add_(1) if case.draw == "ties" else x}


def rows(inputs: Inputs) -> tuple[int, ...]:
    return (inputs["x"].shape[0],)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].amax(-1) - inputs["x"].amin(-1)}


def highest(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].amax(-1)}


def lowest(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].amin(-1)}


def sums(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].amax(-1) + inputs["x"].amin(-1)}


def of_magnitudes(inputs: Inputs) -> Mapping[str, Tensor]:
    return reference({"x": inputs["x"].abs()})


def of_filled_magnitudes(inputs: Inputs) -> Mapping[str, Tensor]:
    """Return what it makes of lanes that hold minus infinity: in a row that is short, infinity."""
    short = inputs["x"].shape[-1] < LANES
    out = of_magnitudes(inputs)["out"]
    return {"out": out.new_full(out.shape, float("inf")) if short else out}


STORE = r"tl\.store\("
MISTAKES = (
    Mistake(
        cause="formula",
        hint="The output is the largest element of each row: the range is that minus the smallest.",
        reference=highest,
        near=(STORE,),
    ),
    Mistake(
        cause="formula",
        hint="The output is the smallest element of each row: the range is the largest minus that.",
        reference=lowest,
        near=(STORE,),
    ),
    Mistake(
        cause="formula",
        hint="The output is the sum of the largest and the smallest element: the range is their "
        "difference.",
        reference=sums,
        near=(STORE,),
    ),
    *(
        Mistake(
            cause="formula",
            hint="The output is the range of the elements' absolute values: compare the elements "
            "as they are, those below 0 too.",
            reference=made,
            near=(r"\babs\(",),
        )
        for made in (of_magnitudes, of_filled_magnitudes)
    ),
)

SPEC = Spec(
    title="Reduction",
    summary="The range of each row: lanes past its end must not win.",
    needs=("t02_masks",),
    backend="triton",
    entry="row_range",
    arguments=(reads("x", at_most=2), writes("out", shape=rows, dtype="float32")),
    dtypes=("float32",),
    draws=("rows", "integers", "ties", "sunken"),
    # A program has LANES lanes.
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32", draw="integers"),
        Case((2, 3), "float32", draw="sunken"),
        Case((3, 5), "float32", draw="ties"),
        Case((5, 3), "float32"),
        Case((2, 31), "float32", draw="ties"),
        Case((3, 63), "float32", draw="sunken"),
        Case((2, 64), "float32", offset=1),
        Case((40, 17), "float32", draw="integers"),
        Case((60, 64), "float32"),
    ),
    largest=(40, 64),
    most_elements=1000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",), rounded_once=True),
    counted=Case((10, 50), "float32"),
    # A program may load its row twice, once for each end of the range.
    budgets=(
        Budget("programs", most=10, best=10),
        Budget("loads", most=2, best=1),
        Budget("stores", most=1, best=1),
    ),
    pictured=Case((2, 5), "float32", draw="integers"),
    hints=(
        "Row r begins `row * columns` elements after the start of x. Its lanes are at "
        "`x_ptr + row * columns + lanes`, and `inside` is the mask.",
        "What may the lanes outside hold, so that they are never the largest? Give it to the load: "
        '`other=float("-inf")`. Then `highest = tl.max(x, axis=0)`.',
        'For the smallest they must hold `float("inf")`. Load once more with another `other`, or '
        'replace them: `tl.where(inside, x, float("inf"))`.',
        '`lowest = tl.min(tl.where(inside, x, float("inf")), axis=0)`, then '
        "`tl.store(out_ptr + row, highest - lowest)`: one number to one address, without a mask.",
    ),
    mistakes=MISTAKES,
    limits=Limits(call_s=10),
)
