"""Races in both simulators: the errors, their words, and vector clocks of published writes.

A simulator runs the threads of a block one after the other, and the programs of a launch in an
order of its own. A race therefore shows in the accesses and not in the output: two accesses to one
element, by two parties that nothing orders, at least one of which writes without being atomic. The
simulator always refuses the second access, whatever the output would have been. Two writes of the
same bits are permitted, as in compute-sanitizer's racecheck ("WAW hazards ... writing the same
value", its manual).

Every access gets a moment, a number that only grows. A party's own accesses are those since it
began, so the moment of an older access shows whose it was.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from grader.worker.refusals import Refused

Index = tuple[int, int, int]  # of a block or program in its grid


class Race(Refused):
    """Two threads or programs use one element, and nothing orders them."""


class DivergentBarrier(Refused):
    """Threads of one block wait at different barriers."""


class DivergentShuffle(Refused):
    """A thread exchanges values with a thread of its warp that does not take part."""


class Uninitialised(Refused):
    """A thread reads a variable, or an element of shared memory, that nothing has written."""


def index_text(index: Sequence[int], extents: Sequence[int]) -> str:
    """Write the index of a thread, block or program: `5`, or `(5, 1)` on two axes."""
    along = max((axis + 1 for axis, extent in enumerate(extents) if extent > 1), default=1)
    return str(index[0]) if along == 1 else str(tuple(map(int, index[:along])))


def runs_backwards(shapes: Iterable[Sequence[int]], other_order: bool = False) -> bool:
    """Report whether launches with arguments of these shapes start with their last block.

    The threads of a block follow the same order. It is fixed for each shape, and backwards for half
    of them. A kernel whose last block assumes that all others are done is right in one of the two
    orders, and refused in the other; so is one that hands out places in the order in which threads
    arrive. `other_order` asks for the order that the shapes do not have.
    """
    order = zlib.crc32(repr([tuple(shape) for shape in shapes]).encode()) % 2
    return (order == 1) is not other_order


def mirrored(index: Index, extents: Index) -> Index:
    """Return the index of a block or program counted from the last of the launch."""
    x, y, z = (extent - 1 - at for at, extent in zip(index, extents, strict=True))
    return x, y, z


VectorClock = dict[int, int]  # for each party, the moment up to which its writes are visible


class Order:
    """The writes of others that a party may rely on, because it acquired them.

    A party that makes its writes visible and then updates an element atomically releases them
    there. Whoever updates that element later acquires them, and all that the first had acquired
    (release and acquire: PTX ISA, "Memory Consistency Model"). Therefore "the last block adds up
    what the others left", and locks, are not races.
    """

    def __init__(self) -> None:
        self.acquired: VectorClock = {}  # of the acting party; with its own visible writes
        self._released: dict[int, VectorClock] = {}  # by the address of the atomic

    def exchange(self, address: int, releases: bool = True, acquires: bool = True) -> None:
        """Let the acting party update `address`, or read it."""
        there = self._released.get(address)
        if acquires and there:
            merge(self.acquired, there)
        if releases and self.acquired:
            merge(self._released.setdefault(address, {}), self.acquired)

    def before(self, party: int, moment: int) -> bool:
        return moment <= self.acquired.get(party, 0)


def merge(into: VectorClock, more: VectorClock) -> None:
    for party, moment in more.items():
        if moment > into.get(party, 0):
            into[party] = moment
