"""Execution of one operation on values, for tests that need no parser, memory or launch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.backends.triton.device import operations, undefined
from grader.backends.triton.device.ttir.records import Operation, Type
from grader.backends.triton.device.values import DTYPES

_ELEMENTS = {dtype: name for name, dtype in DTYPES.items() if name not in ("index", "ptr")}


def type_of(value: Tensor, shape: tuple[int, ...] | None = None) -> Type:
    """Return the type of a value; `shape` where an axis of the value stands for many elements."""
    inner = tuple(value.shape[1:]) if shape is None else shape
    return Type(_ELEMENTS[value.dtype], inner or None)


def execute(
    name: str,
    *operands: Tensor,
    to: torch.dtype | Type | None = None,
    run: Any = None,
    **attributes: Any,
) -> Any:
    """Execute an operation, whose result has the type `to`, or else that of the first operand."""
    op = _operation(name, operands, to, attributes)
    return operations.find(name)(op, list(operands), run)


def followed(
    name: str, *operands: Tensor, run: Any, to: torch.dtype | None = None, **attributes: Any
) -> Any:
    """Execute an operation as a launch does, where some operands are undefined."""
    op = _operation(name, operands, to, attributes)
    return undefined.followed(op, operations.find(name))(op, list(operands), run)


def _operation(
    name: str,
    operands: tuple[Tensor, ...],
    to: torch.dtype | Type | None,
    attributes: dict[str, Any],
) -> Operation:
    if isinstance(to, Type):
        result = to
    else:
        first = type_of(operands[0])
        result = first if to is None else Type(_ELEMENTS[to], first.shape)
    return Operation(
        name,
        results=("result",),
        operands=tuple(f"operand{i}" for i in range(len(operands))),
        attributes=attributes,
        operand_types=tuple(type_of(operand) for operand in operands),
        result_types=(result,),
    )
