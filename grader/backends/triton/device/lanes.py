"""The active lanes of an access, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
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
from grader.backends.triton.device.values import poison
from grader.worker.bounds import Span


@dataclass(frozen=True)
class Lanes:
    """The lanes that an access's mask lets take part: program after program, in row-major order.

    A `shared` access is the same for all programs, and the lanes are those of one of them.
    """

    access: Access
    addresses: Places  # of the active lanes
    active: NDArray[np.bool_] | None  # of all lanes, (programs or 1, lanes of a block); None: all
    shape: tuple[int, ...]  # (programs or 1, *block)

    @classmethod
    def of(cls, access: Access, apart: bool = False) -> Lanes:
        """Return the lanes of an access; with `apart` those of every program, equal or not."""
        addresses, mask = access.addresses, access.mask
        rows = max(addresses.shape[0], 1 if mask is None else mask.shape[0])
        shape = (access.programs.shape[0] if apart else rows, *addresses.shape[1:])
        every = addresses.expand(shape).numpy().reshape(shape[0], -1)
        active = None if mask is None else mask.expand(shape).numpy().reshape(shape[0], -1)
        if active is not None and active.all():
            active = None
        chosen = every.reshape(-1) if active is None else every[active]
        return cls(access, chosen, active, shape)

    @property
    def count(self) -> int:
        return self.addresses.size

    @property
    def shared(self) -> bool:
        return self.shape[0] < self.access.programs.shape[0]

    @cached_property
    def block(self) -> int:
        """The lanes of one program, active or not."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """The active lanes of each program; of one of them, where lanes are shared."""
        if self.active is None:
            return np.full(self.shape[0], self.block)
        return np.asarray(np.count_nonzero(self.active, axis=1))

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Each lane's program, as its place in `access.programs`."""
        return np.repeat(np.arange(self.shape[0]), self.counts)

    @cached_property
    def programs(self) -> NDArray[np.int32]:
        """Each lane's program, counted from 1; the lanes are not shared."""
        numbers: NDArray[np.int32] = (self.access.programs.numpy() + 1).astype(np.int32)
        return np.repeat(numbers, self.counts)

    @cached_property
    def low(self) -> int:
        return int(self.addresses[0] if self.adjacent else self.addresses.min())

    @cached_property
    def high(self) -> int:
        return int(self.addresses[-1] if self.adjacent else self.addresses.max())

    @cached_property
    def adjacent(self) -> bool:
        """Say if the element of each lane follows that of the lane before."""
        size = self.access.itemsize
        whole = int(self.addresses[-1]) - int(self.addresses[0])
        if whole != (self.addresses.size - 1) * size:  # most that are not are found here
            return False
        return bool((self.addresses[1:] - self.addresses[:-1] == size).all())

    def only(self, inside: NDArray[np.bool_]) -> Lanes:
        """Return some of the lanes."""
        active = np.zeros((self.shape[0], self.block), np.bool_)
        active[... if self.active is None else self.active] = (
            inside.reshape(active.shape) if self.active is None else inside
        )
        return Lanes(self.access, self.addresses[inside], active, self.shape)

    def apart(self) -> Lanes:
        """Return the lanes of each program, where they are those of all."""
        if not self.shared:
            return self
        count = self.access.programs.shape[0]
        active = None if self.active is None else np.repeat(self.active, count, axis=0)
        return Lanes(self.access, np.tile(self.addresses, count), active, (count, *self.shape[1:]))

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
        return every.reshape(-1) if self.active is None else every[self.active]

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
        every = as_integers(other).expand(self.shape).numpy().reshape(self.shape[0], -1).copy()
        every[self.active] = bits
        return _from_integers(torch.from_numpy(every).view(self.shape), dtype)


def _from_integers(bits: Tensor, dtype: torch.dtype) -> Tensor:
    return bits != 0 if dtype == torch.bool else bits.view(dtype)
