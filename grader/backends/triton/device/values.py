"""The values of SSA names: torch tensors whose first axis is the programs of a launch.

A value of the type tensor<4x8xf32> is a tensor of shape (P, 4, 8); a scalar is one of shape (P,).
Any axis may be 1 where all its elements are equal: a uniform value has P = 1, a splat has 1 in all
other axes, and `tt.broadcast` does nothing. Operations on elements broadcast by themselves; one
that needs all elements calls `expanded`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.sums import Sum
from grader.backends.triton.device.ttir.records import Type
from grader.backends.triton.device.wide_indices import carried

DTYPES = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "index": torch.int64,
    "ptr": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz,
    "f8E5M2": torch.float8_e5m2,
    "f8E5M2FNUZ": torch.float8_e5m2fnuz,
}
FLOAT8 = frozenset(dtype for name, dtype in DTYPES.items() if name.startswith("f8"))

# Integers have no NaN. This one is odd and large in every width: no index, and no likely result.
_INTEGER_POISON = 0x7EADBEEF7EADBEEF


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor: an array in memory, and the block that one load of it takes.

    `base` (an address), `shape` and `strides` (in elements) are scalars with an axis of programs.
    """

    base: Tensor
    shape: tuple[Tensor, ...]
    strides: tuple[Tensor, ...]
    block: Type
    padding: str = "zero"


Value = Tensor | Sum | Descriptor


def dtype_of(type_: Type) -> torch.dtype:
    """Return the dtype of a type's elements; raise NotSimulated where torch has none."""
    try:
        return DTYPES[type_.element]
    except KeyError:
        raise NotSimulated(f"the type {type_.element}") from None


def pointee_size(pointer: Type) -> int:
    """Return the bytes that an element behind a pointer takes, or behind a block of pointers."""
    pointee = pointer.pointee
    if pointee is None:
        raise Malformed("an offset is added to what is not a pointer")
    if pointee.element not in DTYPES:
        raise NotSimulated(f"the type {pointee.element}")
    return DTYPES[pointee.element].itemsize


def whole(value: Any) -> Any:
    """Return a value with all its elements, if it is a sum; others as they are."""
    return value.tensor if isinstance(value, Sum) else value


def expanded(value: Tensor, type_: Type) -> Tensor:
    """Return a view with all elements of its type; the axis of programs may still be 1."""
    return value.expand(-1, *(type_.shape or ()))


def agreed(value: Tensor) -> int | float | bool | None:
    """Return the number that a scalar is in all programs, or None where programs differ."""
    number: int | float | bool
    if value.shape[0] == 1:
        number = value.item()
        return number
    first = value[0]
    if not bool((value == first).all()):
        return None
    number = first.item()
    return number


def poison(dtype: torch.dtype) -> int | float | bool:
    """Return what stands for an element that has no defined value."""
    if dtype.is_floating_point:
        return math.nan
    if dtype == torch.bool:
        return True
    bits = torch.iinfo(dtype).bits
    return _INTEGER_POISON >> (64 - bits)


def taken(value: Value, rows: Tensor) -> Value:
    """Return a value of the programs at `rows`; a uniform one as it is."""
    if isinstance(value, Sum):
        return value.each(lambda part: _rows(part, rows))
    return _each([value], lambda parts: _rows(parts[0], rows))


def merged(parts: Sequence[tuple[Tensor, Value]], count: int) -> Value:
    """Put together the value of `count` programs, of which each part has those at its rows."""
    rows = [row for row, _ in parts]
    return _each([value for _, value in parts], lambda tensors: _scattered(rows, tensors, count))


def joined(values: Sequence[Value], counts: Sequence[int]) -> Value:
    """Put the values of groups of programs one after the other."""

    def concatenated(parts: Sequence[Tensor]) -> Tensor:
        if all(part is parts[0] for part in parts) and parts[0].shape[0] == 1:
            return parts[0]
        shape = np.broadcast_shapes(*(part.shape[1:] for part in parts))
        wide = [part.expand(n, *shape) for part, n in zip(parts, counts, strict=True)]
        return torch.cat(wide)

    return _each(values, concatenated)


def _rows(value: Tensor, rows: Tensor) -> Tensor:
    if value.shape[0] == 1:
        return value
    return carried(value, value.index_select(0, rows), lambda exact: _rows(exact, rows))


def _scattered(rows: Sequence[Tensor], parts: Sequence[Tensor], count: int) -> Tensor:
    if parts[0].shape[0] == 1 and all(part is parts[0] for part in parts):
        return parts[0]
    # torch.broadcast_shapes would import sympy, which takes half a second.
    shape = np.broadcast_shapes(*(part.shape[1:] for part in parts))
    result = torch.empty((count, *shape), dtype=parts[0].dtype)
    for row, part in zip(rows, parts, strict=True):
        result[row] = part
    return result


def _each(values: Sequence[Value], function: Callable[[Sequence[Tensor]], Tensor]) -> Value:
    """Apply a function of tensors; of descriptors, to each tensor that they consist of."""
    values = list(map(whole, values))
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) == len(values):
        return function(tensors)
    descriptors = [value for value in values if isinstance(value, Descriptor)]
    first = descriptors[0]
    return Descriptor(
        base=function([each.base for each in descriptors]),
        shape=tuple(function(part) for part in zip(*(d.shape for d in descriptors), strict=True)),
        strides=tuple(
            function(part) for part in zip(*(d.strides for d in descriptors), strict=True)
        ),
        block=first.block,
        padding=first.padding,
    )
