"""The traffic of a simulated call: reads and writes of each argument, counted in elements.

Torch operations on arguments count as a whole, so no work can hide in the entry. A simulator in the
worker adds the accesses of kernels, one by one; a simulated device counts them itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.worker.bounds import Access, Span


class Ledger:
    """Reads and writes of each argument in one call. An atomic access counts as both."""

    def __init__(self, arguments: Iterable[tuple[Span, int]]) -> None:
        """Start counting for these spans, each with the size of an element in bytes."""
        self._arguments = list(arguments)
        # In bytes: a kernel may move an argument in pieces of another size than its elements.
        self._read = {span.name: 0 for span, _ in self._arguments}
        self._written = dict(self._read)

    def note_whole(self, start: int, size: int, what: Access) -> None:
        for span, _ in self._arguments:
            if span.start <= start < span.stop:
                self.add(span.name, size, what)

    def add(self, name: str, size: int, what: Access) -> None:
        if what != "store":
            self._read[name] += size
        if what != "load":
            self._written[name] += size

    def facts(self) -> dict[str, int]:
        """Return `reads.x`, `writes.out` and so on for the reply, in elements."""
        counts = {}
        for span, size in self._arguments:
            counts[f"reads.{span.name}"] = self._read[span.name] // size
            counts[f"writes.{span.name}"] = self._written[span.name] // size
        return counts
