"""Races between the programs of one launch, found by a shadow of its memory.

The programs of a launch run in any order on a GPU. A race therefore shows in the accesses and not
in the output: two accesses to one element, by two programs that nothing orders, at least one of
which writes without being atomic. The second one is refused, whatever the output would have been.
Two writes of the same bits are permitted, as in compute-sanitizer's racecheck ("WAW hazards ...
writing the same value", its manual).

All programs of a group make an access at once. Each such access is a moment, a number that grows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.faults import Race
from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.mappings import Bits
from grader.backends.triton.device.order import Order
from grader.backends.triton.device.shadow import Kind, Past, Region, regions
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Site
from grader.worker.bounds import Span
from grader.worker.races import index_text

Held = Callable[[Lanes], Bits]


class Races:
    """Follows the accesses of one launch. Raises Race at the second of two that nothing orders."""

    def __init__(
        self, spans: Sequence[Span], grid: tuple[int, int, int], source: Source | None = None
    ) -> None:
        """Take the memory that the launch may touch; the first span that fits names an element."""
        self._spans = tuple(spans)
        self._regions = list(regions(spans))
        self._starts = [region.start for region in self._regions]
        self._grid = grid
        self._source = source or Source()
        self._order = Order()
        self._sites = [Site()]  # of each moment

    def read(self, lanes: Lanes) -> None:
        for region, part in self._touched(lanes):
            if not region.only_read:
                each = part.apart()
                self._refuse(region, "wrote", each, "reads")
                self._refuse(region, "updated", each, "reads")
            region.note("read", part, self._now)

    def look(self, lanes: Lanes) -> None:
        """Note a volatile load: it races with no atomic update, and acquires what is released."""
        lanes = lanes.apart()
        for region, part in self._touched(lanes):
            self._refuse(region, "wrote", part, "reads")
        self._meet(lanes, releases=False, acquires=True)

    def write(self, lanes: Lanes, bits: Bits, held: Held) -> None:
        """Note that lanes, which are not shared, store these bits; `held` reads what is there."""
        for region, part in self._touched(lanes):
            chosen = bits if part is lanes else bits[_inside(lanes, region)]
            self._refuse(region, "read", part, "writes")
            self._refuse(region, "updated", part, "writes")
            self._refuse(region, "wrote", part, "writes another value to", (chosen, held))
            self._refuse_lanes(region, part, chosen)
            region.note("wrote", part, self._now)

    def update(self, lanes: Lanes) -> None:
        """Note atomic updates; one of a single element orders programs, if it orders memory."""
        for region, part in self._touched(lanes):
            self._refuse(region, "wrote", part, "updates")
            self._refuse(region, "read", part, "updates")
            region.note("updated", part, self._now)
        self._meet(lanes, lanes.access.releases, lanes.access.acquires)

    @property
    def _now(self) -> int:
        return len(self._sites) - 1

    def _meet(self, lanes: Lanes, releases: bool, acquires: bool) -> None:
        if lanes.block == 1 and (releases or acquires):
            programs = lanes.programs.astype(np.int64)
            self._order.exchange(programs, lanes.addresses, releases, acquires, self._now)

    def _touched(self, lanes: Lanes) -> Iterator[tuple[Region, Lanes]]:
        """Yield the regions that an access touches, with the lanes there."""
        self._sites.append(lanes.access.site)
        # `low` is a bound, which may lie below all regions although no lane does.
        place = bisect_right(self._starts, lanes.low) - 1
        if place >= 0 and lanes.high < self._regions[place].stop:
            yield self._regions[place], lanes
            return
        for region in self._regions:
            inside = _inside(lanes, region)
            if inside.any():
                yield region, lanes.only(inside)

    def _refuse(
        self,
        region: Region,
        kind: Kind,
        lanes: Lanes,
        verb: str,
        stored: tuple[Bits, Held] | None = None,
    ) -> None:
        """Raise Race if another program's access of this kind is not known to come before.

        Lanes that store the bits that are there already do not matter.
        """
        track = region.track(kind, lanes)
        if track is None:
            return
        at = region.at(lanes)
        past = (track.latest if kind == "updated" else track.others)(at, region.programs(lanes))
        if past is None:
            return
        before = _of_lanes(past, region.pieces(lanes))
        racing = before.programs != 0
        if stored is not None:
            bits, held = stored
            racing &= held(lanes) != bits
        if racing.any() and self._order.released:
            racing &= ~self._visible(lanes, before, racing)
        if racing.any():
            lane = int(np.argmax(racing))
            this, other = self._program(lanes.programs[lane]), self._program(before.programs[lane])
            line = self._source.quoted(self._sites[before.moments[lane]])
            raise Race(
                f"{this} {verb} {lanes.element(lane, self._spans)}, which {other} {kind} in "
                f"{line}: programs run in any order, so it is left to chance which comes first",
                lanes.access.site,
                int(lanes.addresses[lane]),
                (int(lanes.programs[lane]) - 1, int(before.programs[lane]) - 1),
            )

    def _visible(self, lanes: Lanes, past: Past, racing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the lanes that may race are known to come after what is past."""
        visible = np.zeros(racing.size, np.bool_)
        triples = np.stack([lanes.programs, past.programs, past.moments], axis=1)[racing]
        distinct, of_lanes = np.unique(triples, axis=0, return_inverse=True)
        known = [self._order.before(*triple) for triple in distinct.tolist()]
        visible[racing] = np.array(known)[of_lanes.reshape(-1)]
        return visible

    def _refuse_lanes(self, region: Region, lanes: Lanes, bits: Bits) -> None:
        """Raise Race if two lanes of one store have different values for one address."""
        if (np.diff(lanes.starts) > (lanes.run - 1) * lanes.access.itemsize).all():
            return
        addresses = lanes.addresses
        last = region.last_lanes(lanes)
        if np.array_equal(bits, bits[last]):
            return
        order = np.argsort(addresses, kind="stable")
        same = addresses[order][1:] == addresses[order][:-1]
        racing = same & (bits[order][1:] != bits[order][:-1])
        pair = int(np.flatnonzero(racing)[np.argmin(order[1:][racing])])
        first, second = int(order[pair]), int(order[pair + 1])
        this, other = self._program(lanes.programs[second]), self._program(lanes.programs[first])
        element = lanes.element(second, self._spans)
        if this == other:
            raise Race(
                f"{this} writes two different values to {element} at once: it is left to chance "
                "which of them stays",
                lanes.access.site,
                int(addresses[second]),
                (int(lanes.programs[second]) - 1,) * 2,
            )
        raise Race(
            f"{this} writes another value to {element}, which {other} wrote in "
            f"{self._source.quoted(lanes.access.site)}: programs run in any order, so it is left "
            "to chance which comes first",
            lanes.access.site,
            int(addresses[second]),
            (int(lanes.programs[second]) - 1, int(lanes.programs[first]) - 1),
        )

    def _program(self, number: int) -> str:
        """Name a program by its number, which counts from 1."""
        x, y, _ = self._grid
        at = int(number) - 1
        return f"program {index_text((at % x, at // x % y, at // (x * y)), self._grid)}"


def _of_lanes(past: Past, pieces: int) -> Past:
    if pieces == 1:
        return past
    moments = np.where(past.programs != 0, past.moments, 0).reshape(-1, pieces)
    latest = moments.argmax(axis=1)
    rows = np.arange(latest.size)
    return Past(past.programs.reshape(-1, pieces)[rows, latest], moments[rows, latest])


def _inside(lanes: Lanes, region: Region) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (lanes.addresses >= region.start) & (lanes.addresses < region.stop)
    return inside
