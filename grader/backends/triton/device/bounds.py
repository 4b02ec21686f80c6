"""The addresses that a launch may touch: those of the call's arguments and of its own scratch.

Memory between two arguments, and that of the judge behind them, lies in the same mapping. So every
access is checked before it happens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.access import Access, Kind
from grader.backends.triton.device.faults import OutOfBounds
from grader.backends.triton.device.lanes import Lanes
from grader.worker.bounds import Span

VERBS: dict[Kind, str] = {
    "load": "load reads",
    "volatile": "load reads",
    "store": "store writes",
    "atomic": "atomic updates",
}


@dataclass(frozen=True)
class Wrapped:
    """The active lanes whose addresses wrapped around, and where that began."""

    lanes: NDArray[np.bool_]
    cause: str


class Bounds:
    """The spans that may be touched; they may overlap."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans, key=lambda span: span.start)
        self._starts = [span.start for span in self.spans]
        # Entry i is the furthest end of the first i spans. An access lies inside a span exactly
        # when it ends no later than the furthest end of all spans that start at or below it.
        self._reach = list(accumulate((span.stop for span in self.spans), max, initial=0))

    def check(self, lanes: Lanes, wrapped: Wrapped | None = None) -> None:
        """Raise OutOfBounds unless every active lane's element lies inside one span."""
        size = lanes.access.itemsize
        # Addresses that follow each other may pass the highest one, and go on below 0.
        low, high = lanes.low, lanes.high
        if 0 <= low <= high and high + size <= self._reach[bisect_right(self._starts, low)]:
            return
        outside = self._outside(lanes.addresses, size)
        if outside.any():
            raise OutOfBounds(self._explain(lanes, outside, wrapped), lanes.access.site)

    def _outside(self, signed: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
        addresses = signed.view(np.uint64)
        starts = np.array(self._starts, dtype=np.uint64)
        reach = np.array(self._reach, dtype=np.uint64)
        stop = reach[np.searchsorted(starts, addresses, side="right")]
        # In this form neither side can wrap around at 0 or 2**64.
        outside: NDArray[np.bool_] = (addresses >= stop) | (stop - addresses < size)
        return outside

    def _explain(self, lanes: Lanes, wrong: NDArray[np.bool_], wrapped: Wrapped | None) -> str:
        """Explain the access of the first program that leaves the arrays.

        Lanes outside of the array that is named count as outside, even where another array happens
        to lie: the kernel meant neither, and both numbers of the message speak of the same lanes.
        """
        verb = VERBS[lanes.access.kind]
        if not self.spans:
            return f"{verb} memory, but this call has no argument in memory"
        of_program = lanes.rows == lanes.rows[np.argmax(wrong)]
        cause = wrapped.cause if wrapped and (of_program & wrong & wrapped.lanes).any() else None
        addresses = lanes.addresses[of_program].view(np.uint64)
        size = lanes.access.itemsize
        first = int(addresses[wrong[of_program]][0])
        span = self._meant(addresses, first)
        outside = addresses[(addresses < span.start) | (addresses > span.stop - size)]
        if first < span.start:
            gap = span.start - int(outside[outside < span.start].min())
            side = "before the start"
        else:
            gap = int(outside.max()) + size - span.stop
            side = "past the end"
        distance = -(-gap // size)
        # Of lanes side by side there are as many as the furthest one is away.
        reach = "" if outside.size in (1, distance) else "up to "
        extent = _count((span.stop - span.start) // size, "element")
        message = (
            f"{verb} {reach}{_count(distance, 'element')} {side} of {span.name} "
            f"({span.name} spans {extent})"
        )
        if addresses.size == 1:
            return f"{message}: {cause or 'is the address right?'}"
        return (
            f"{message}; {outside.size} of {addresses.size} active lanes are outside: "
            f"{cause or lanes.access.suspicion or _suspicion(lanes.access)}"
        )

    def _meant(self, addresses: NDArray[np.uint64], first: int) -> Span:
        """Return the span nearest to the first wrong address, of those that hold other lanes."""
        holding = [s for s in self.spans if ((addresses >= s.start) & (addresses < s.stop)).any()]
        return min(
            holding or self.spans, key=lambda each: max(each.start - first, first - each.stop)
        )


def _suspicion(access: Access) -> str:
    return "is the mask missing?" if access.mask is None else "does its mask let them through?"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
