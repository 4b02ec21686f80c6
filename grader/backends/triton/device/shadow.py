"""A shadow of memory: for each element, the program that used it last, and when."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.lanes import Lanes, repeated
from grader.backends.triton.device.mappings import Places
from grader.worker.bounds import Span

Numbers = NDArray[np.int32]
Where = slice | Places
Kind = Literal["read", "wrote", "updated"]  # plainly the first two, atomically the third

# Accesses are noted before they are marked, up to so many numbers: most programs keep to elements
# of their own, and a shadow of these would be made for nothing.
MOST_NOTED = 1 << 22
OF_A_NOTE = 64  # numbers of 8 bytes that a Note takes with its slices and ints (sys.getsizeof)


class Past(NamedTuple):
    """Accesses that came before: for each lane a program, counted from 1, or 0; and its moment."""

    programs: Numbers
    moments: Numbers


class Extent:
    """The bytes of a region between the lowest and the highest that were touched."""

    def __init__(self) -> None:
        self._low, self._stop = sys.maxsize, 0

    def meets(self, lanes: Lanes) -> bool:
        return lanes.low < self._stop and self._low <= lanes.high + lanes.access.itemsize - 1

    def widen(self, lanes: Lanes) -> None:
        self._low = min(self._low, lanes.low)
        self._stop = max(self._stop, lanes.high + lanes.access.itemsize)


class Note(NamedTuple):
    """An access; its numbers are those of `Kept`, at these places."""

    kind: Kind
    now: int
    itemsize: int
    run: int
    starts: slice
    programs: slice
    counts: slice  # of each program's lanes


class Kept:
    """Numbers in one array: many small ones would part the free memory between large ones."""

    def __init__(self) -> None:
        self._numbers = np.empty(1 << 10, np.int64)
        self.size = 0

    def put(self, numbers: NDArray[Any]) -> slice:
        place = slice(self.size, self.size + numbers.size)
        if place.stop > self._numbers.size:
            more = np.empty(max(place.stop, self._numbers.size), np.int64)
            self._numbers = np.concatenate([self._numbers, more])
        self._numbers[place] = numbers
        self.size = place.stop
        return place

    def __getitem__(self, place: slice) -> Places:
        return self._numbers[place]


class Track:
    """The last access of one kind to each unit, and the last one by another program than that."""

    def __init__(self, units: int) -> None:
        self._last, self._last_at = np.zeros(units, np.int32), np.zeros(units, np.int32)
        self._other, self._other_at = np.zeros(units, np.int32), np.zeros(units, np.int32)
        self._shared = False  # whether any unit has another

    def others(self, at: Where, programs: Numbers) -> Past | None:
        """Return each place's last access by another program, or None if there is none."""
        if not self._shared:
            return self.latest(at, programs)
        last = self._last[at]
        own = last == programs
        found = np.where(own, self._other[at], last)
        if not found.any():
            return None
        return Past(found, np.where(own, self._other_at[at], self._last_at[at]))

    def latest(self, at: Where, programs: Numbers) -> Past | None:
        """Return each place's last access, or 0 where `programs` made it.

        Atomic updates of one element come one after the other: what is after the last is after all.
        """
        last = self._last[at]
        found = np.where(last == programs, 0, last)
        return Past(found, self._last_at[at]) if found.any() else None

    def mark(self, at: Where, programs: Numbers, now: int) -> None:
        """Note an access; of several to a place the last stays, and one of another program."""
        before, before_at = self._last[at].copy(), self._last_at[at]
        self._keep(at, (before != programs) & (before != 0), before, before_at)
        self._last[at] = programs
        if not isinstance(at, slice):
            lost = self._last[at] != programs
            self._keep(at, lost, programs, np.full(programs.size, now, np.int32))
        self._last_at[at] = now

    def _keep(self, at: Where, chosen: NDArray[np.bool_], programs: Numbers, when: Numbers) -> None:
        if chosen.any():
            self._shared = True
            places = np.arange(at.start, at.stop)[chosen] if isinstance(at, slice) else at[chosen]
            self._other[places], self._other_at[places] = programs[chosen], when[chosen]

    def refine(self, factor: int) -> None:
        self._last, self._last_at = self._last.repeat(factor), self._last_at.repeat(factor)
        self._other, self._other_at = self._other.repeat(factor), self._other_at.repeat(factor)


class Region:
    """A piece of memory, in units of the smallest element that it was accessed by so far."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self._unit = 0
        self._tracks: dict[Kind, Track] = {}
        self._notes: list[Note] = []
        self._kept = Kept()
        self._extents: dict[Kind, Extent] = {}  # of all that was noted
        self._places_of_lanes: Numbers | None = None

    def note(self, kind: Kind, lanes: Lanes, now: int) -> None:
        """Note an access; it is marked once another one comes near."""
        if kind not in self._extents:
            self._extents[kind] = Extent()
        self._extents[kind].widen(lanes)
        for each in lanes.outermost() if lanes.shared else (lanes,):
            put = self._kept.put
            places = put(each.starts), put(each.access.programs.numpy()), put(each.counts)
            self._notes.append(Note(kind, now, each.access.itemsize, each.run, *places))
        if self._kept.size + len(self._notes) * OF_A_NOTE > MOST_NOTED:
            self._mark_notes()

    def track(self, kind: Kind, lanes: Lanes) -> Track | None:
        """Return the accesses of one kind, or None if none of them came near these lanes."""
        if kind not in self._extents or not self._extents[kind].meets(lanes):
            return None
        self._mark_notes()
        return self._tracks[kind]

    @property
    def only_read(self) -> bool:
        return not self._extents.keys() - {"read"}

    def at(self, lanes: Lanes) -> Where:
        """Return the places of the lanes' elements: `pieces` of each, in a row."""
        return self._at(lanes.starts, lanes.run, lanes.access.itemsize)

    def pieces(self, lanes: Lanes) -> int:
        return lanes.access.itemsize // self._unit

    def programs(self, lanes: Lanes) -> Numbers:
        pieces = self.pieces(lanes)
        return lanes.programs if pieces == 1 else np.repeat(lanes.programs, pieces)

    def _at(self, starts: Places, run: int, itemsize: int) -> Where:
        self._fit(starts, itemsize)
        places, length = (starts - self.start) // self._unit, run * itemsize // self._unit
        if starts.size == 1:
            return slice(int(places[0]), int(places[0]) + length)
        return places if length == 1 else (places[:, None] + np.arange(length)).reshape(-1)

    def last_lanes(self, lanes: Lanes) -> Places:
        """Return, for each lane, the last of the lanes that have its address."""
        self._fit(lanes.starts, lanes.access.itemsize)
        at = (lanes.addresses - self.start) // self._unit
        if self._places_of_lanes is None or self._places_of_lanes.size != self._units:
            self._places_of_lanes = np.zeros(self._units, np.int32)
        self._places_of_lanes[at] = np.arange(lanes.count, dtype=np.int32)
        return self._places_of_lanes[at].astype(np.int64)

    @property
    def _units(self) -> int:
        return -(-(self.stop - self.start) // self._unit)

    def _fit(self, starts: Places, itemsize: int) -> None:
        """Make units so small that each element of an access is a whole number of them."""
        self._refine(math.gcd(self._unit, itemsize, int(starts[0]) - self.start))

    def _refine(self, unit: int) -> None:
        if unit != self._unit:
            for track in self._tracks.values():
                track.refine(self._unit // unit)
            self._unit = unit

    def _mark_notes(self) -> None:
        notes, kept = self._notes, self._kept
        self._notes, self._kept = [], Kept()
        for note in notes:
            at = self._at(kept[note.starts], note.run, note.itemsize)
            counts = kept[note.counts] * (note.itemsize // self._unit)
            programs = repeated((kept[note.programs] + 1).astype(np.int32), counts)
            if note.kind not in self._tracks:
                self._tracks[note.kind] = Track(self._units)
            self._tracks[note.kind].mark(at, programs, note.now)


def regions(spans: Iterable[Span]) -> Iterator[Region]:
    """Yield the spans' memory as pieces that do not overlap, lowest first."""
    start = stop = -1
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= stop:
            if stop > start:
                yield Region(start, stop)
            start, stop = span.start, span.stop
        stop = max(stop, span.stop)
    if stop > start:
        yield Region(start, stop)
