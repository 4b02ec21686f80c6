"""The record of one call that the judge watches closely: which line accesses which elements.

Only a case that has failed is watched, for hints; so the record may cost time, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.sites import Source
from grader.model import (
    MOST_LAUNCHES,
    MOST_RUNS,
    MOST_TOUCHED,
    LaunchRef,
    Sightings,
    Touched,
)
from grader.worker.bounds import Span

MOST_ELEMENTS = 1 << 20  # of an argument that is watched
WARP = 32  # threads
WORDS = {"load": "read", "volatile": "read", "store": "write", "atomic": "update"}
Marks = NDArray[np.bool_]


@dataclass
class _Use:
    marks: Marks
    lanes: int = 1
    masked: bool = False
    programs: int = 0
    unset: bool = False


class Recorder:
    """The launches of one call, and the elements of its arguments that each line accesses."""

    def __init__(self, arguments: Iterable[tuple[Span, int]], source: Source) -> None:
        """Watch these spans, each with the size of an element in bytes."""
        self._arguments = [
            (span, size)
            for span, size in arguments
            if 0 < (span.stop - span.start) // size <= MOST_ELEMENTS
        ]
        self._source = source
        self._launches: list[LaunchRef] = []
        self._uses: dict[tuple[int, str, str], _Use] = {}
        self._stored: dict[str, NDArray[np.int64]] = {}  # the last program, counted on over calls
        self._twice: dict[str, Marks] = {}
        self._programs = 0  # of the launches before this one

    def begin(self, kernel: str, grid: tuple[int, int, int], warps: int) -> None:
        if self._launches:
            x, y, z = self._launches[-1].grid
            self._programs += x * y * z
        self._launches.append(LaunchRef(kernel, grid, (warps * WARP, 1, 1)))

    def see(self, lanes: Lanes) -> None:
        """Record an access that lies in bounds."""
        line = self._source.line_of(lanes.access.site)
        kind = WORDS[lanes.access.kind]
        for span, size in self._arguments:
            if lanes.high < span.start or lanes.low >= span.stop:
                continue
            at = lanes.addresses
            inside = (at >= span.start) & (at < span.stop)
            if not inside.any():
                continue
            elements = (at[inside] - span.start) // size
            count = (span.stop - span.start) // size
            use = self._uses.setdefault((line, kind, span.name), _Use(np.zeros(count, np.bool_)))
            use.marks[elements] = True
            use.lanes = max(use.lanes, lanes.block)
            use.masked |= lanes.active is not None
            use.programs = max(use.programs, lanes.access.programs.shape[0])
            stored = self._stored.setdefault(span.name, np.full(count, -1))
            if kind != "write":
                use.unset |= bool((stored[elements] < 0).any())
            if kind == "write":
                self._see_store(span.name, elements, lanes.apart(), inside)

    def _see_store(
        self, name: str, elements: NDArray[np.int64], lanes: Lanes, inside: Marks
    ) -> None:
        if lanes.programs.size != inside.size:  # the lanes are shared: each program stores alike
            everyone, programs = lanes.shape[0] > 1, np.zeros(elements.size, np.int64)
        else:
            everyone = False
            programs = lanes.programs[inside].astype(np.int64) + self._programs
        stored = self._stored[name]
        twice = self._twice.setdefault(name, np.zeros(stored.size, np.bool_))
        before = stored[elements]
        twice[elements[(before >= 0) & (before != programs) | everyone]] = True
        stored[elements] = programs
        twice[elements[stored[elements] != programs]] = True  # by two programs at once

    def sightings(self) -> Sightings:
        """Return the record, cut to what a report holds."""
        touched: list[Touched] = []
        room, cut = MOST_RUNS, len(self._launches) > MOST_LAUNCHES
        for (line, kind, name), use in sorted(self._uses.items()):
            runs = tuple(_runs(use.marks))
            if len(touched) == MOST_TOUCHED or len(runs) > room:
                cut = True
                continue
            room -= len(runs)
            touched.append(
                Touched(line, kind, name, runs, use.lanes, use.masked, use.programs, use.unset)
            )
        twice = {name: tuple(_runs(marks)) for name, marks in self._twice.items() if marks.any()}
        if any(len(runs) > MOST_RUNS for runs in twice.values()):
            twice, cut = {}, True
        return Sightings(tuple(self._launches[:MOST_LAUNCHES]), tuple(touched), twice, cut)


def _runs(marks: Marks) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(marks.astype(np.int8), prepend=0, append=0))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
