"""What a simulated call moves: reads and writes of each argument, counted in elements.

Kernels are counted access by access, with their masks; torch operations on arguments count as
whole, so that no work can hide in the entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from grader.worker.dispatch import Dispatched
from grader.worker.guard import Access, Addresses, Span


class Ledger:
    """How much of each argument one call read and wrote. An atomic access does both."""

    def __init__(self, arguments: Iterable[tuple[Span, int]]) -> None:
        """`arguments` are spans, each with the size of an element in bytes."""
        self._arguments = list(arguments)
        # In bytes, for a kernel may move an argument in pieces of another size than its elements.
        self._read = {span.name: 0 for span, _ in self._arguments}
        self._written = dict(self._read)

    def note(self, addresses: Addresses, itemsize: int, what: Access) -> None:
        """Accesses of `itemsize` bytes at each of these addresses."""
        for span, _ in self._arguments:
            inside = (addresses >= span.start) & (addresses < span.stop)
            self.add(span.name, int(np.count_nonzero(inside)) * itemsize, what)

    def note_tensor(self, tensor: torch.Tensor, what: Access) -> None:
        """A torch operation that touches every element of this tensor."""
        for span, _ in self._arguments:
            if span.start <= tensor.data_ptr() < span.stop:
                self.add(span.name, tensor.numel() * tensor.element_size(), what)

    def add(self, name: str, size: int, what: Access) -> None:
        """An access to `size` bytes of the argument `name`."""
        if what != "store":
            self._read[name] += size
        if what != "load":
            self._written[name] += size

    def facts(self) -> dict[str, int]:
        """For the wire: `reads.x`, `writes.out` and so on, in elements."""
        found = {}
        for span, size in self._arguments:
            found[f"reads.{span.name}"] = self._read[span.name] // size
            found[f"writes.{span.name}"] = self._written[span.name] // size
        return found


class Watch(Dispatched):  # type: ignore[no-untyped-call]
    """Notes what torch does while it is entered."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        schema = func._schema
        if _moves(schema):
            given = dict(zip((p.name for p in schema.arguments), args, strict=False)) | kwargs
            for parameter in schema.arguments:
                for leaf in tree_leaves(given.get(parameter.name)):
                    if isinstance(leaf, torch.Tensor):
                        self._ledger.note_tensor(leaf, _use(parameter, schema))
        return result


_OVERWRITES = ("aten::copy_", "aten::fill_", "aten::zero_")  # in place, without a look at the old


def _moves(schema: Any) -> bool:
    """Whether an operation touches memory: a view does not, nor what only takes over a shape."""
    takes_shape = schema.name.startswith("aten::new_") or schema.name.endswith("_like")
    views = any(p.alias_info and not p.alias_info.is_write for p in schema.arguments)
    return not takes_shape and not views


def _use(parameter: Any, schema: Any) -> Access:
    """What an operation that moves memory does with a tensor that it gets."""
    if parameter.alias_info is None:
        return "load"
    return "store" if parameter.is_out or schema.name in _OVERWRITES else "atomic"
