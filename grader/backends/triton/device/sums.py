"""Sums of integers that are added up only when somebody asks for their elements.

Most offsets and addresses are a number for each program plus one for each lane of the block. What
an access asks of them (bounds, neighbours, a comparison with a limit) can be read off these few
numbers. A sum here never wraps around: one that might is added up at once, and watched there
(`wide_indices`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from grader.backends.triton.device.ttir.records import Type
from grader.backends.triton.device.wide_indices import Interval, bounds, exact_of


class Sum:
    """The sum of `parts`, tensors of one dtype and rank that broadcast to `shape`.

    Its elements lie in `interval`. No sum of parts is further from 0 than `reach`, which the dtype
    holds.
    """

    def __init__(
        self,
        parts: tuple[Tensor, ...],
        interval: Interval,
        reach: int,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.parts = parts
        self.interval = interval
        self.reach = reach
        self.shape = shape or _shape(parts)
        self.dtype = parts[0].dtype

    @cached_property
    def tensor(self) -> Tensor:
        first, *others = self.parts
        for part in others:
            first = first + part
        total = first.expand(self.shape)
        vars(total)["interval"] = self.interval
        return total

    def each(self, function: Callable[[Tensor], Tensor]) -> Sum:
        """Return the sum of what a function gives that keeps elements, but not their places."""
        return Sum(tuple(map(function, self.parts)), self.interval, self.reach)

    def expanded(self, type_: Type) -> Sum:
        """Return a sum with all elements of its type; the axis of programs may still be 1."""
        return Sum(self.parts, self.interval, self.reach, (self.shape[0], *(type_.shape or ())))


def added(a: Tensor | Sum, b: Tensor | Sum, factor: int = 1) -> Sum | None:
    """Return `a + b * factor`, in the dtype of a.

    Return None where that has no more elements than one of the two, or may not fit into its bits.
    """
    if _covers(a, b) or _covers(b, a) or exact_of(a) or exact_of(b):
        return None
    (low, high), (least, most) = bounds(a), bounds(b)
    reach = _reach(a) + _reach(b) * factor
    if reach > torch.iinfo(a.dtype).max:
        return None
    scaled = [part.to(a.dtype) * factor for part in _parts(b)]
    parts = _merged([*_parts(a), *scaled])
    return Sum(parts, (low + least * factor, high + most * factor), reach)


def multiplied(a: Sum, factor: Tensor) -> Sum | None:
    """Return the product with a single number; None where it may not fit into its bits."""
    if factor.numel() != 1 or exact_of(factor) is not None:
        return None
    number = int(factor.item())
    if a.reach * abs(number) > torch.iinfo(a.dtype).max:
        return None
    low, high = sorted(bound * number for bound in a.interval)
    return Sum(tuple(part * number for part in a.parts), (low, high), a.reach * abs(number))


def _parts(value: Tensor | Sum) -> tuple[Tensor, ...]:
    return value.parts if isinstance(value, Sum) else (value,)


def _reach(value: Tensor | Sum) -> int:
    return value.reach if isinstance(value, Sum) else max(map(abs, bounds(value)))


def _covers(value: Tensor | Sum, other: Tensor | Sum) -> bool:
    """Say if a tensor has all the elements of its sum with another value."""
    return isinstance(value, Tensor) and _holds(value.shape, other.shape)


def _holds(shape: Sequence[int], other: Sequence[int]) -> bool:
    return all(map(operator.ge, shape, other))


def _merged(parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if len(parts) == 2:  # neither has all the axes of the other
        return tuple(parts)
    kept: list[Tensor] = []
    for part in sorted(parts, key=Tensor.numel, reverse=True):
        for i, other in enumerate(kept):
            if _holds(other.shape, part.shape):
                kept[i] = other + part
                break
        else:
            kept.append(part)
    return tuple(kept)


def _shape(parts: Sequence[Tensor]) -> tuple[int, ...]:
    return tuple(map(max, zip(*(part.shape for part in parts), strict=True)))
