"""What a simulated call moves: reads and writes of each argument, counted in elements.

Kernels are counted access by access, with their masks; torch operations on arguments count as
whole, so that no work can hide in the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.worker.guard import Access, Addresses, Span


class Ledger:
    """How many elements of each argument one call read and wrote."""

    def __init__(self, arguments: Iterable[tuple[Span, int]]) -> None:
        """`arguments` are spans, each with the size of an element in bytes."""
        self._arguments = list(arguments)
        self._start(span.name for span, _ in self._arguments)

    @classmethod
    def of(cls, names: Iterable[str]) -> Ledger:
        """For arguments that are told of by name, not by address."""
        ledger = cls([])
        ledger._start(names)
        return ledger

    def _start(self, names: Iterable[str]) -> None:
        self.reads = dict.fromkeys(names, 0)
        self.writes = dict.fromkeys(self.reads, 0)

    def note(self, addresses: Addresses, itemsize: int, what: Access) -> None:
        """Accesses of `itemsize` bytes at these addresses."""
        for span, size in self._arguments:
            inside = (addresses >= span.start) & (addresses < span.stop)
            self.add(span.name, int(np.count_nonzero(inside)) * max(1, itemsize // size), what)

    def note_tensor(self, tensor: torch.Tensor, what: Access) -> None:
        """A torch operation that touches every element of this tensor."""
        for span, _ in self._arguments:
            if span.start <= tensor.data_ptr() < span.stop:
                self.add(span.name, tensor.numel(), what)

    def add(self, name: str, elements: int, what: Access) -> None:
        """An access to some elements of the argument `name`; an atomic one reads and writes."""
        if what != "store":
            self.reads[name] += elements
        if what != "load":
            self.writes[name] += elements

    def facts(self) -> dict[str, int]:
        """For the wire: `reads.x`, `writes.out` and so on."""
        reads = {f"reads.{name}": count for name, count in self.reads.items()}
        return reads | {f"writes.{name}": count for name, count in self.writes.items()}


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes what torch does while it is entered."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(zip((a.name for a in func._schema.arguments), args, strict=False))
        given |= kwargs or {}
        aliases = {a.name: a.alias_info for a in func._schema.arguments}
        result = func(*args, **(kwargs or {}))
        if any(alias is not None and not alias.is_write for alias in aliases.values()):
            return result  # a view: nothing moves
        for name, value in given.items():
            alias = aliases.get(name)
            for tensor in _tensors(value):
                self._ledger.note_tensor(tensor, "load" if alias is None else "store")
        return result


def _tensors(value: object) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor))
