"""The addresses that a simulated kernel may touch.

A simulated kernel reads and writes this process's own memory. An address outside the arguments
would corrupt the process, or read a neighbour that a GPU need not have put there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grader.worker.refusals import Refused

Access = Literal["load", "store", "atomic"]
Addresses = NDArray[np.uint64]

_VERBS: dict[Access, str] = {
    "load": "load reads",
    "store": "store writes",
    "atomic": "atomic updates",
}


class OutOfBounds(Refused):
    """The kernel touched memory, or used an index, outside of its arrays."""


@dataclass(frozen=True)
class Span:
    """The bytes from address `start` up to `stop`, exclusive, that belong to `name`."""

    start: int
    stop: int
    name: str

    @classmethod
    def of(
        cls, name: str, start: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
    ) -> Span:
        """Return the span of an array from its first byte to its last, gaps between rows included.

        `strides` are in elements.
        """
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        return cls(start, start + extent * itemsize, name)

    def overlaps(self, other: Span) -> bool:
        return self.start < other.stop and other.start < self.stop


class AddressGuard:
    """The spans of the current call's arguments; every other address is refused.

    The judge lays out all arguments of a call in the memory `arena`. Inside it only the spans of
    `allow` may be touched, although torch reports the whole arena as the storage of each argument.
    `observer`, if set, receives every permitted access.
    """

    def __init__(self, arena: Span | None = None) -> None:
        self.arena = arena
        self.observer: Callable[[Addresses, int, Access], None] | None = None
        self.allow([])

    def allow(self, spans: Iterable[Span]) -> None:
        """Permit exactly these spans from now on. They may overlap."""
        self._spans = sorted(spans, key=lambda span: span.start)
        self._starts = [span.start for span in self._spans]
        # Entry i is the furthest end of the first i spans. An access lies inside a span exactly
        # when it ends no later than the furthest end of all spans that start at or below it.
        self._reach = list(accumulate((span.stop for span in self._spans), max, initial=0))

    @contextmanager
    def launch(self, scratch: Iterable[Span]) -> Iterator[list[Span]]:
        """Permit, while one kernel runs, the memory that the learner allocated for it, too.

        Yields all permitted spans, the arguments first.
        """
        arguments = self._spans
        own = [span for span in scratch if self.arena is None or not span.overlaps(self.arena)]
        self.allow([*arguments, *own])
        try:
            yield [*arguments, *own]
        finally:
            self.allow(arguments)

    def check(self, addresses: Addresses, itemsize: int, what: Access) -> None:
        """Raise OutOfBounds unless `itemsize` bytes at each address lie inside one span.

        `addresses` holds those of the active lanes only, in any shape.
        """
        if addresses.size == 0:
            return
        self._must_be_inside(addresses, itemsize, what)
        if self.observer is not None:
            self.observer(addresses, itemsize, what)

    def _must_be_inside(self, addresses: Addresses, itemsize: int, what: Access) -> None:
        lowest, highest = int(addresses.min()), int(addresses.max())
        if highest + itemsize <= self._reach[bisect_right(self._starts, lowest)]:
            return
        lanes = addresses.ravel()
        starts = np.array(self._starts, dtype=np.uint64)
        reach = np.array(self._reach, dtype=np.uint64)
        stop = reach[np.searchsorted(starts, lanes, side="right")]
        # In this form neither side can wrap around at 0 or 2**64.
        outside = lanes[(lanes >= stop) | (stop - lanes < itemsize)]
        if outside.size:
            raise OutOfBounds(self._explain(outside, lanes.size, itemsize, what))

    def _explain(self, outside: Addresses, lanes: int, itemsize: int, what: Access) -> str:
        if not self._spans:
            return f"{_VERBS[what]} memory, but this call has no argument in memory"
        first = int(outside[0])
        span = min(self._spans, key=lambda each: max(each.start - first, first - each.stop))
        if first < span.start:
            gap = span.start - int(outside[outside < span.start].min())
            side = "before the start"
        else:
            gap = int(outside.max()) + itemsize - span.stop
            side = "past the end"
        distance = _count(-(-gap // itemsize), "element")
        size = _count((span.stop - span.start) // itemsize, "element")
        message = f"{_VERBS[what]} {distance} {side} of {span.name} ({span.name} spans {size})"
        if lanes == 1:
            return f"{message}: is the address right?"
        outside_of = f"{outside.size} of {lanes} active lanes are outside"
        return f"{message}; {outside_of}: is the mask missing?"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
