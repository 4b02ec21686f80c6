"""Operations that take sums, or give them, without adding up (`sums`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from grader.backends.triton.device.sums import Sum, added, multiplied
from grader.backends.triton.device.ttir.records import Operation, Type
from grader.backends.triton.device.values import pointee_size, whole
from grader.backends.triton.device.wide_indices import bounds

if TYPE_CHECKING:
    from grader.backends.triton.device.run import Run

Execute = Callable[[Operation, Any, Any], Any]

_SUMMED = frozenset({"i8", "i16", "i32", "i64", "ptr"})
# These hand values on to their regions, or to another function.
_HANDED_ON = frozenset({"scf.for", "scf.if", "scf.while", "tt.call"})


def lazily(op: Operation, function: Execute) -> Execute:
    """Return the function of an operation, or one that also takes sums."""
    if op.name in _HANDED_ON or not any(map(_may_be_sum, op.operand_types)):
        return function
    return partial(_LAZY.get(op.name, _of_tensors), function)


def _may_be_sum(type_: Type) -> bool:
    return type_.shape is not None and type_.element in _SUMMED


def _of_tensors(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    return function(op, list(map(whole, operands)), run)


def _add(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    factor = pointee_size(op.result_types[0]) if op.name == "tt.addptr" else 1
    a, b = operands
    total = added(a, b, factor)
    return _of_tensors(function, op, operands, run) if total is None else total


def _multiply(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    a, b = operands
    if isinstance(b, Sum):
        a, b = b, a
    product = multiplied(a, whole(b)) if isinstance(a, Sum) else None
    return _of_tensors(function, op, operands, run) if product is None else product


def _of_each_part(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    [value] = operands
    if isinstance(value, Sum):
        return value.each(lambda part: function(op, [part], run))
    return function(op, operands, run)


def _compare(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    """Compare the bounds of sums first, as most programs of most kernels keep to a limit."""
    if any(isinstance(each, Sum) for each in operands):
        decided = _decided(str(op.attributes["predicate"]), *map(bounds, operands))
        if decided is not None:
            return torch.full([1] * len(operands[0].shape), decided)
    return _of_tensors(function, op, operands, run)


def _decided(predicate: str, a: tuple[int, int], b: tuple[int, int]) -> bool | None:
    """Return the result of a comparison if it is that of all numbers in two intervals."""
    if predicate[0] == "u" and min(*a, *b) < 0:
        return None
    name = predicate[-2:]
    if name in ("gt", "le"):
        above = _above(a, b)
    elif name in ("lt", "ge"):
        above = _above(b, a)
    else:
        return None
    return above if above is None or name in ("gt", "lt") else not above


def _above(a: tuple[int, int], b: tuple[int, int]) -> bool | None:
    """Report whether every number of `a` is above every one of `b`; None if only some are."""
    if a[0] > b[1]:
        return True
    return False if a[1] <= b[0] else None


def _at_address(function: Execute, op: Operation, operands: Sequence[Any], run: Run) -> Any:
    pointers, *others = operands
    return function(op, [pointers, *map(whole, others)], run)


_LAZY: dict[str, Callable[..., Any]] = {
    "arith.addi": _add,
    "arith.cmpi": _compare,
    "arith.extsi": _of_each_part,
    "arith.muli": _multiply,
    "tt.addptr": _add,
    "tt.broadcast": _of_each_part,
    "tt.expand_dims": _of_each_part,
    "tt.load": _at_address,
    "tt.store": _at_address,
    "tt.trans": _of_each_part,
}
