"""The active lanes of an access, as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grader.backends.triton.device.access import Access
from grader.backends.triton.device.integers import as_integers
from grader.backends.triton.device.mappings import Bits, Places
from grader.backends.triton.device.sums import Sum
from grader.backends.triton.device.values import poison, whole
from grader.worker.bounds import Span


@dataclass(frozen=True)
class Lanes:
    """The lanes that an access's mask lets take part: program after program, in row-major order.

    A `shared` access is the same for all programs, and the lanes are those of one of them. In
    memory the lanes are runs of `run` elements that follow each other, from each of `starts` on.
    """

    access: Access
    shape: tuple[int, ...]  # (programs or 1, *block)
    active: NDArray[np.bool_] | None  # (programs, or 1: all do alike; block); None: all lanes

    @classmethod
    def of(cls, access: Access, apart: bool = False) -> Lanes:
        """Return the lanes of an access; with `apart` those of every program, equal or not."""
        mask, addresses = access.mask, access.addresses
        rows = max(addresses.shape[0], 1 if mask is None else mask.shape[0])
        shape = (access.programs.shape[0] if apart else rows, *addresses.shape[1:])
        if mask is None or mask.numpy().all():
            return cls(access, shape, None)
        active = mask.expand(-1, *shape[1:]).numpy().reshape(mask.shape[0], -1)
        return cls(access, shape, active)

    @cached_property
    def count(self) -> int:
        return math.prod(self._extent)

    @property
    def shared(self) -> bool:
        return self.shape[0] < self.access.programs.shape[0]

    @cached_property
    def block(self) -> int:
        """The lanes of one program, active or not."""
        return math.prod(self.shape[1:])

    @property
    def counts(self) -> NDArray[np.intp]:
        """The active lanes of each program, or a single number where all have as many."""
        if self.active is not None and not self._alike:
            return np.asarray(np.count_nonzero(self.active, axis=1))
        return np.array([self._rectangle[1]])

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Each lane's program, as its place in `access.programs`."""
        return np.repeat(np.arange(self.shape[0]), self.counts)

    @cached_property
    def programs(self) -> NDArray[np.int32]:
        """Each lane's program, counted from 1; the lanes are not shared."""
        numbers = self.access.programs.numpy() + 1
        return repeated(numbers.astype(np.int32), self.counts)

    @cached_property
    def addresses(self) -> Places:
        if self.run == 1:
            return self.starts
        inside = np.arange(0, self.run * self.access.itemsize, self.access.itemsize)
        return (self.starts[:, None] + inside).reshape(-1)

    @cached_property
    def starts(self) -> Places:
        """The address of each run's first element."""
        _, axes = self._run
        firsts = (slice(None),) * (len(self._extent) - axes) + (slice(1),) * axes
        total = _total([term[firsts] for term in self._terms])
        shape = self._extent[: len(self._extent) - axes] + (1,) * axes
        return (total if total.shape == shape else np.broadcast_to(total, shape)).reshape(-1)

    @property
    def run(self) -> int:
        return self._run[0]

    @property
    def low(self) -> int:
        """A lower bound of the addresses, perhaps outside of all arrays; `high` is an upper one."""
        return self._ends[0]

    @property
    def high(self) -> int:
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[int, int]:
        firsts = self._terms if self.run == 1 else (self.starts,)
        beyond = (self.run - 1) * self.access.itemsize
        low = sum(each.item() if each.size == 1 else int(each.min()) for each in firsts)
        high = sum(each.item() if each.size == 1 else int(each.max()) for each in firsts)
        return low, high + beyond

    @property
    def _alike(self) -> bool:
        return self.active is None or self.active.shape[0] == 1

    @property
    def _rectangle(self) -> tuple[int, int]:
        """The programs and the active lanes of each, where all programs have as many."""
        return self.shape[0], self.count // self.shape[0]

    @cached_property
    def _columns(self) -> slice | Places:
        """The active lanes of each program's block, where all programs have the same."""
        if self.active is None:
            return slice(None)
        count = np.count_nonzero(self.active)
        if self.active[0, :count].all():
            return slice(count)
        return np.flatnonzero(self.active[0])

    @cached_property
    def _extent(self) -> tuple[int, ...]:
        """The axes of the active lanes."""
        if self.active is None:
            return self.shape
        active = int(np.count_nonzero(self.active))
        return (self.shape[0], active) if self._alike else (active,)

    @cached_property
    def _terms(self) -> tuple[Places, ...]:
        """Arrays whose sum, broadcast to the axes of the active lanes, has their addresses."""
        addresses = self.access.addresses
        if not self._alike:
            every = whole(addresses).expand(self.shape).numpy()
            return (every.reshape(self.shape[0], -1)[self.active],)
        parts = addresses.parts if isinstance(addresses, Sum) else (_narrowed(addresses),)
        if self.active is None:
            return tuple(part.numpy() for part in parts)
        return tuple(map(self._of_columns, parts))

    def _of_columns(self, part: Tensor) -> Places:
        """Return what a part adds to the active lanes of a block, (programs or 1, lanes or 1)."""
        if part.numel() > part.shape[0]:
            part = part.expand(-1, *self.shape[1:])
            return part.numpy().reshape(part.shape[0], -1)[:, self._columns]
        return part.numpy().reshape(-1, 1)

    @cached_property
    def _run(self) -> tuple[int, int]:
        """The elements of a run, and the axes, counted from the last one, that it fills."""
        length = 1
        if not self.count:
            return length, 0
        for axes, extent in enumerate(reversed(self._extent)):
            step = length * self.access.itemsize
            if extent > 1 and not self._rises(len(self._extent) - 1 - axes, step):
                return length, axes
            length *= extent
        return length, len(self._extent)

    def _rises(self, axis: int, step: int) -> bool:
        growing = [term for term in self._terms if term.shape[axis] > 1]
        if not growing:
            return False
        along = _total(growing).swapaxes(axis, -1)
        last = along.shape[-1] - 1
        if along.item(last) - along.item(0) != last * step:  # most that are not adjacent end here
            return False
        return bool((along[..., 1:] - along[..., :-1] == step).all())

    def only(self, inside: NDArray[np.bool_]) -> Lanes:
        """Return some of the lanes."""
        active = np.zeros((self.shape[0], self.block), np.bool_)
        self.place(inside, active)
        return Lanes(self.access, self.shape, active)

    def apart(self) -> Lanes:
        """Return the lanes of each program, where they are those of all."""
        return replace(self, shape=(self.access.programs.shape[0], *self.shape[1:]))

    def outermost(self) -> list[Lanes]:
        """Return shared lanes as those of the first program, and as those of the last."""
        programs = self.access.programs
        return [
            replace(self, access=replace(self.access, programs=some))
            for some in (programs[:1], programs[-1:])
        ]

    def bits(self, values: Tensor) -> Bits:
        """Return the bits of those elements of `values` (any axis may be 1) that lanes store."""
        return self.of_active(as_integers(values))

    def of_active(self, values: Tensor) -> NDArray[Any]:
        """Return those elements of `values` (any axis may be 1) that are active lanes'."""
        every = values.expand(self.shape).numpy().reshape(self.shape[0], -1)
        return (every[:, self._columns] if self._alike else every[self.active]).reshape(-1)

    def place(self, elements: NDArray[Any], every: NDArray[Any]) -> None:
        """Put the elements of active lanes at their places in `every`, (programs or 1, block)."""
        if self._alike:
            every[:, self._columns] = elements.reshape(self._rectangle)
        else:
            every[self.active] = elements

    def element(self, lane: int, spans: Iterable[Span]) -> str:
        """Name the element of an active lane by the first span that has it."""
        address = int(self.addresses[lane])
        span = next(span for span in spans if span.start <= address < span.stop)
        return f"element {(address - span.start) // self.access.itemsize} of {span.name}"

    def value(self, bits: Bits, other: Tensor | None = None) -> Tensor:
        """Return the value of an operation whose lanes got these bits.

        Lanes that are masked off get `other` or, without it, poison.
        """
        dtype = self.access.dtype
        if self.active is None:
            return _from_integers(torch.from_numpy(bits).view(self.shape), dtype)
        if other is None:
            other = torch.tensor(poison(dtype), dtype=dtype)
        every = np.empty((self.shape[0], self.block), bits.dtype)
        if self._alike and isinstance(self._columns, slice) and other.numel() == 1:
            every[:, self._columns.stop :] = as_integers(other).item()
        else:
            every.reshape(self.shape)[...] = as_integers(other).numpy()
        self.place(bits, every)
        return _from_integers(torch.from_numpy(every).view(self.shape), dtype)


def repeated(numbers: NDArray[Any], counts: NDArray[np.intp]) -> NDArray[Any]:
    """Repeat each number so many times; a single count is that of all."""
    if counts.size > 1:
        return np.repeat(numbers, counts)
    return np.broadcast_to(numbers[:, None], (numbers.size, counts[0])).reshape(-1)


def _total(terms: Sequence[Places]) -> Places:
    first, *others = terms
    for term in others:
        first = first + term
    return first


def _narrowed(value: Tensor) -> Tensor:
    """Undo an expansion: return a view with one element in each axis along which all are equal."""
    strides = value.stride()
    if 0 not in strides:
        return value
    return value[tuple(slice(None if stride else 1) for stride in strides)]


def _from_integers(bits: Tensor, dtype: torch.dtype) -> Tensor:
    return bits != 0 if dtype == torch.bool else bits.view(dtype)
