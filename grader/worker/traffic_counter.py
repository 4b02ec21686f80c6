"""What a simulated call moves: reads and writes of each argument, counted in elements.

Kernels are counted access by access, with their masks; torch operations on arguments count as
whole, so that no work can hide in the entry.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grader.worker.bounds import Access, Addresses, Span


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

    def note_whole(self, start: int, size: int, what: Access) -> None:
        """An operation that touches each of `size` bytes of the tensor that starts there."""
        for span, _ in self._arguments:
            if span.start <= start < span.stop:
                self.add(span.name, size, what)

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
