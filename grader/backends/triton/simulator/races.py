"""Races between the programs of one Triton launch, found by a shadow of its memory.

The programs of a launch run in any order on a GPU. For each element that they touch, the shadow
holds the moments of the last accesses; numpy compares those of a whole block at once.
"""

from __future__ import annotations

import ctypes
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader.worker.bounds import Addresses, Span
from grader.worker.races import Index, Moments, Order, Race, index_text
from grader.worker.source_sites import Site, quoted

Moment = NDArray[np.int32]
Where = slice | NDArray[np.intp]
Kind = Literal["read", "wrote", "updated"]  # plainly the first two, atomically the third


class _Track:
    """The last access of one kind to each unit of a region, and the last by another program."""

    def __init__(self, units: int) -> None:
        self._last = np.zeros(units, np.int32)
        self._other = np.zeros(units, np.int32)

    def others(self, at: Where, begin: int) -> Moment:
        """Return each unit's last moment of a program but the one that began at `begin`."""
        last = self._last[at]
        return np.where(last < begin, last, self._other[at])

    def latest(self, at: Where, begin: int) -> Moment:
        """Return each unit's last moment, or 0 where it was of the program that began at `begin`.

        Atomic updates of one element come one after the other: what is after the last is after all.
        """
        last = self._last[at]
        return np.where(last < begin, last, 0)

    def mark(self, at: Where, begin: int, now: int) -> None:
        self._other[at] = self.others(at, begin)
        self._last[at] = now

    def refine(self, factor: int) -> None:
        self._last, self._other = self._last.repeat(factor), self._other.repeat(factor)


class _Region:
    """A piece of memory, in units of the smallest element that it was accessed by so far."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self._unit = 0
        self._tracks: dict[Kind, _Track] = {}

    def track(self, kind: Kind) -> _Track | None:
        """Return the last accesses of one kind, or None before the first."""
        return self._tracks.get(kind)

    def mark(self, kind: Kind, at: Where, begin: int, now: int) -> None:
        if kind not in self._tracks:
            self._tracks[kind] = _Track(-(-(self.stop - self.start) // self._unit))
        self._tracks[kind].mark(at, begin, now)

    def at(self, addresses: Addresses, itemsize: int, adjacent: bool) -> Where:
        """Return the shadow places of these elements: `itemsize / unit` of each, in a row."""
        first = int(addresses[0]) - self.start
        unit = math.gcd(self._unit, itemsize, first)
        if unit != self._unit:
            for track in self._tracks.values():
                track.refine(self._unit // unit)
            self._unit = unit
        pieces = itemsize // self._unit
        if adjacent:
            return slice(first // self._unit, first // self._unit + pieces * addresses.size)
        places = ((addresses - np.uint64(self.start)) // np.uint64(self._unit)).astype(np.intp)
        if pieces == 1:
            return places
        return (places[:, None] + np.arange(pieces)).ravel()

    def holds(self, addresses: Addresses, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare the bits of each of these elements in memory with those of its value."""
        pointer = ctypes.cast(self.start, ctypes.POINTER(ctypes.c_uint8))
        memory = np.ctypeslib.as_array(pointer, (self.stop - self.start,))
        first = (addresses - np.uint64(self.start)).astype(np.intp)
        held = memory[first[:, None] + np.arange(values.itemsize)]
        same: NDArray[np.bool_] = (held == _bytes(values)).all(axis=1)
        return same


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(values.size, -1)


class Programs:
    """Follows the accesses of one launch. Raises Race at the second of two that nothing orders."""

    def __init__(self, spans: Iterable[Span]) -> None:
        """Take the memory that the launch may touch; the first span that fits names an element."""
        self._spans = tuple(spans)
        self._regions = [_Region(start, stop) for start, stop in _merged(self._spans)]
        self._starts = [region.start for region in self._regions]
        self._moments = Moments()
        self._order = Order()
        self._sites: dict[int, Site] = {}
        self._begin = 0
        self._wrote = 0  # the last moment at which this program wrote

    def enter(self, index: Index, grid: Index) -> None:
        self._order.acquired = {}
        self._begin = self._moments.begin(f"program {index_text(index, grid)}")
        self._wrote = 0

    def load(self, addresses: Addresses, itemsize: int, site: Site) -> None:
        for region, lanes, at in self._touched(addresses, itemsize, site):
            self._refuse(region, "wrote", at, lanes, itemsize, "reads")
            self._refuse(region, "updated", at, lanes, itemsize, "reads")
            region.mark("read", at, self._begin, self._moments.now)

    def store(self, addresses: Addresses, values: NDArray[Any], site: Site) -> None:
        """Note that the lanes store these values at their addresses."""
        itemsize = values.itemsize
        values = values.ravel()
        self._refuse_lanes(addresses.ravel(), values)
        for region, lanes, at in self._touched(addresses, itemsize, site):
            chosen = values if lanes.size == values.size else values[_inside(addresses, region)]
            self._refuse(region, "read", at, lanes, itemsize, "writes")
            self._refuse(region, "updated", at, lanes, itemsize, "writes")
            self._refuse(region, "wrote", at, lanes, itemsize, "writes another value to", chosen)
            region.mark("wrote", at, self._begin, self._moments.now)
            self._wrote = self._moments.now

    def update(
        self, addresses: Addresses, itemsize: int, site: Site, releases: bool, acquires: bool
    ) -> None:
        """Note an atomic operation; on a single element it orders programs, if it orders memory."""
        for region, lanes, at in self._touched(addresses, itemsize, site):
            self._refuse(region, "wrote", at, lanes, itemsize, "updates")
            self._refuse(region, "read", at, lanes, itemsize, "updates")
            region.mark("updated", at, self._begin, self._moments.now)
        self._meet(addresses, releases, acquires)

    def look(self, addresses: Addresses, itemsize: int, site: Site) -> None:
        """Note a volatile or atomic load: it races with no atomic update, and acquires writes."""
        for region, lanes, at in self._touched(addresses, itemsize, site):
            self._refuse(region, "wrote", at, lanes, itemsize, "reads")
        self._meet(addresses, releases=False, acquires=True)

    def _meet(self, addresses: Addresses, releases: bool, acquires: bool) -> None:
        if addresses.size == 1:
            if releases:
                self._order.acquired[self._moments.number(self._begin)] = self._wrote
            self._order.exchange(int(addresses.ravel()[0]), releases, acquires)

    def _touched(
        self, addresses: Addresses, itemsize: int, site: Site
    ) -> Iterator[tuple[_Region, Addresses, Where]]:
        """Yield the regions that an access touches, with the addresses and shadow places there."""
        self._moments.now += 1
        self._sites[self._moments.now] = site
        lanes = addresses.ravel()
        steps = lanes[1:] - lanes[:-1]
        adjacent = bool((steps == itemsize).all())
        lowest, highest = (lanes[0], lanes[-1]) if adjacent else (lanes.min(), lanes.max())
        region = self._regions[bisect_right(self._starts, int(lowest)) - 1]
        if highest < region.stop:
            yield region, lanes, region.at(lanes, itemsize, adjacent)
            return
        for region in self._regions:
            inside = lanes[_inside(lanes, region)]
            if inside.size:
                yield region, inside, region.at(inside, itemsize, False)

    def _refuse(
        self,
        region: _Region,
        kind: Kind,
        at: Where,
        lanes: Addresses,
        itemsize: int,
        verb: str,
        values: NDArray[Any] | None = None,
    ) -> None:
        """Raise Race if another program's access of this kind is not known to come before.

        With `values`, elements that hold theirs already are left out.
        """
        track = region.track(kind)
        if track is None:
            return
        past = track.latest if kind == "updated" else track.others
        others = past(at, self._begin)
        if not others.any():
            return
        before = others.reshape(lanes.size, -1).max(axis=1)  # for each lane, of its pieces
        invisible = np.array(
            [moment for moment in np.unique(before) if not self._is_visible(moment)]
        )
        racing = np.isin(before, invisible)
        if values is not None:
            racing &= ~region.holds(lanes, values)
        if racing.any():
            lane = int(np.argmax(racing))
            raise Race(self._explain(int(lanes[lane]), int(before[lane]), itemsize, kind, verb))

    def _is_visible(self, moment: int) -> bool:
        return moment == 0 or self._order.before(self._moments.number(moment), int(moment))

    def _explain(self, address: int, other: int, itemsize: int, kind: Kind, verb: str) -> str:
        return (
            f"{self._moments.party(self._begin)} {verb} {self._element(address, itemsize)}, which "
            f"{self._moments.party(other)} {kind} in {quoted(self._sites[other])}: programs run in "
            "any order, so it is left to chance who comes first"
        )

    def _refuse_lanes(self, lanes: Addresses, values: NDArray[Any]) -> None:
        """Raise Race if one store has two lanes with different values for one address."""
        if (lanes[1:] > lanes[:-1]).all():
            return
        order = np.argsort(lanes)
        lanes, bits = lanes[order], _bytes(values[order])
        racing = (lanes[1:] == lanes[:-1]) & (bits[1:] != bits[:-1]).any(axis=1)
        if racing.any():
            address = int(lanes[int(np.argmax(racing))])
            raise Race(
                f"{self._moments.party(self._begin)} writes two different values to "
                f"{self._element(address, values.itemsize)} at once: it is left to chance which "
                "of them stays"
            )

    def _element(self, address: int, itemsize: int) -> str:
        span = next(span for span in self._spans if span.start <= address < span.stop)
        return f"element {(address - span.start) // itemsize} of {span.name}"


def _merged(spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Yield the spans' memory as pieces that do not overlap, lowest first."""
    start = stop = -1
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= stop:
            if stop > start:
                yield start, stop
            start, stop = span.start, span.stop
        stop = max(stop, span.stop)
    if stop > start:
        yield start, stop


def _inside(addresses: Addresses, region: _Region) -> NDArray[np.bool_]:
    lanes = addresses.ravel()
    inside: NDArray[np.bool_] = (lanes >= region.start) & (lanes < region.stop)
    return inside
