"""Launch: a block as large as the row needs, chosen by the host and compiled into the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import Budget, Case, Draw, Inputs, Limits, Mistake, Spec, Tolerance, reads, writes

if TYPE_CHECKING:
    from torch import Tensor


def inputs(case: Case, draw: Draw) -> Inputs:
    """In the distribution `ties` all lies so far below 0 that exp of it is 0 in float32."""
    x = draw.tensor(case.shape)
    return {"x": x.sub_(200) if case.draw == "ties" else x}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].softmax(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """y * (1 + max - x): rounding x - max by one part in 2**24 changes exp(x - max) by
    (max - x) parts in 2**24, and the sum and the division add a few parts more."""
    x = inputs["x"].double()
    return {"out": expected["out"] * (1 + (x.amax(-1, keepdim=True) - x))}


def without_sum(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": (inputs["x"] - inputs["x"].amax(-1, keepdim=True)).exp()}


def by_powers_of_2(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": (inputs["x"] * math.log(2)).softmax(-1)}


MISTAKES = (
    Mistake(
        cause="factor",
        hint="The exponentials are right, and they are not divided by the sum of their row: "
        "tl.sum(…, axis=0).",
        reference=without_sum,
        near=(r"exp\(",),
    ),
    Mistake(
        cause="formula",
        hint="The output is that of powers of 2: a softmax takes tl.exp, not tl.exp2.",
        reference=by_powers_of_2,
        near=(r"exp2\(",),
    ),
)

SPEC = Spec(
    title="Launch",
    summary="Softmax of rows that fit one block: the host chooses how large it is.",
    needs=("t02_masks",),
    backend="triton",
    entry="softmax",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "ties", "integers", "spikes"),
    edges=(
        Case((1, 1), "float32"),
        Case((1, 2), "float32", draw="ties"),
        Case((3, 3), "float32", offset=1),
        Case((2, 31), "float32", draw="integers"),
        Case((2, 32), "float32"),
        Case((2, 33), "float32", draw="spikes"),
        Case((5, 7), "float32", draw="ties"),
        Case((2, 65), "float32", offset=1),
        Case((130, 5), "float32"),
        Case((3, 1025), "float32", draw="spikes"),
        Case((2, 1500), "float32"),
    ),
    largest=(40, 300),
    most_elements=2000,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1], magnitude=magnitude),
    counted=Case((5, 600), "float32"),
    # A program for each row, which it holds in one block: 2 times 600 elements of 4 bytes.
    budgets=(
        Budget("programs", most=5, best=5),
        Budget("loads", most=1, best=1),
        Budget("stores", most=1, best=1),
        Budget("bytes", most=4800, best=4800),
    ),
    pictured=Case((2, 6), "float32", draw="integers"),
    hints=(
        "Load the row once, into one block. Lanes outside must be no maximum, and their exp must "
        "add nothing to the sum: `other=` takes care of both.",
        'With `other=float("-inf")` the lanes outside lose every maximum, and '
        "`tl.exp(x - tl.max(x, axis=0))` is 0 there. Divide by `tl.sum(…, axis=0)`, and store with "
        "the mask.",
        "The host knows `columns`, and `tl.arange` needs a power of two: "
        "`block = triton.next_power_of_2(columns)`.",
        "`softmax_kernel[(rows,)](x, out, columns, BLOCK=block, num_warps=WARPS)`: the grid in "
        "brackets, the arguments in the kernel's order, and the last two by name.",
    ),
    mistakes=MISTAKES,
    limits=Limits(call_s=10),
)
