"""Loads, stores and pointers."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.backends.triton.device.access import Access, Kind
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.sums import Sum
from grader.backends.triton.device.ttir.records import Operation, Type
from grader.backends.triton.device.values import dtype_of, expanded, pointee_size
from grader.backends.triton.device.wide_indices import exact_of


@operation("tt.load")
def load(op: Operation, operands: Operands, run: Run) -> Tensor:
    kind: Kind = "volatile" if op.attributes.get("isVolatile") else "load"
    pointers, *masked = operands
    mask = masked[0] if masked else None
    other = masked[1] if len(masked) > 1 else None
    return run.memory.load(access(op, kind, pointers, mask, op.result_types[0], run), other)


@operation("tt.store")
def store(op: Operation, operands: Operands, run: Run) -> None:
    pointers, values, *masked = operands
    mask = masked[0] if masked else None
    run.memory.store(access(op, "store", pointers, mask, op.operand_types[1], run), values)


def access(
    op: Operation,
    kind: Kind,
    pointers: Tensor | Sum,
    mask: Tensor | None,
    type_: Type,
    run: Run,
) -> Access:
    """Return the access to elements of the type `type_` by the programs of a run."""
    element = op.operand_types[0].pointee
    if element is not None and element.shape is not None:
        raise NotSimulated(f"{op.name} of a block pointer")
    if pointers.dtype != torch.int64 or (mask is not None and mask.dtype != torch.bool):
        raise Malformed(f"{op.name} takes no such pointers")
    return Access(
        kind=kind,
        addresses=(
            pointers.expanded(type_) if isinstance(pointers, Sum) else expanded(pointers, type_)
        ),
        mask=mask,
        dtype=dtype_of(type_),
        programs=run.programs,
        site=op.site,
        order=str(op.attributes.get("sem", "relaxed")),
        exact=exact_of(pointers),
        operation=op,
        loops=run.loops,
    )


@operation("tt.addptr")
def addptr(op: Operation, operands: Operands, run: Run) -> Tensor:
    pointers, offsets = operands
    # In one pass, and in 64 bits whatever the width of the offsets.
    return torch.add(pointers, offsets, alpha=pointee_size(op.result_types[0]))
