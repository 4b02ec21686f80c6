"""Programs and lanes: one program for each row of a table, one lane for each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor

COLUMNS = 8


def inputs(case: Case, draw: Draw) -> Inputs:
    return {"x": draw.tensor(case.shape)}


def form(inputs: Inputs) -> tuple[int, ...]:
    return inputs["x"].shape[0], COLUMNS


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    x = inputs["x"]
    return {"out": x[:, None] * (x.new_ones(COLUMNS).cumsum(0) - 1)}


SPEC = Spec(
    title="Programs and lanes",
    summary="A table of products: one program for each row, one lane for each column.",
    backend="triton",
    entry="table",
    arguments=(reads("x"), writes("out", shape=form, dtype="float32")),
    dtypes=("float32",),
    draws=("rows", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float32", draw="integers"),
        Case((3,), "float32"),
        Case((8,), "float32", draw="integers"),
        Case((9,), "float32", offset=1),
        Case((33,), "float32"),
        Case((257,), "float32", draw="integers"),
    ),
    largest=(300,),
    most_elements=300,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 1, exact=("integers",), rounded_once=True),
    counted=Case((100,), "float32"),
    # A program for each of the 100 elements; each loads one number and stores eight at once.
    budgets=(
        Budget("programs", most=100, best=100),
        Budget("loads", most=1, best=1),
        Budget("stores", most=1, best=1),
    ),
    pictured=Case((4,), "float32", draw="integers"),
    hints=(
        "Program p needs one element of x, and makes one row of out. What is its number, and where "
        "does its row begin?",
        "`p = tl.program_id(0)` is the program's number, and `tl.load(x_ptr + p)` is `x[p]`. Row p "
        "begins `p * 8` elements after the start of out.",
        "`lanes = tl.arange(0, 8)` is 0, 1, ..., 7: the numbers to multiply by, and the columns to "
        "store to.",
        "`x = tl.load(x_ptr + p)`, then `tl.store(out_ptr + p * 8 + lanes, x * lanes)`.",
    ),
    limits=Limits(call_s=10),
)
