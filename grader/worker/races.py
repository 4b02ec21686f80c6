"""What both simulators know of races: the errors, the words, and who has heard of whose writes.

A simulator runs the threads of a block, or the programs of a launch, one after the other. So a race
is not seen in the answer but in the accesses: two of them to one element, by two parties that
nothing orders, of which at least one writes without being atomic. Whoever is second is refused,
every time, whatever the answer would have been. Two that write the same bits are let pass, as
compute-sanitizer's racecheck does ("WAW hazards ... writing the same value", its manual).

Every access gets a moment, a number that only grows. What a party did itself is what happened since
its begin, so that comparing moments tells whose access an older one was.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from grader.worker.refusals import Refused

Index = tuple[int, int, int]  # of a block or program in its grid


class Race(Refused):
    """Two threads or programs use one element, and nothing says which of them comes first."""


class DivergentBarrier(Refused):
    """Threads of one block wait at different barriers."""


class DivergentShuffle(Refused):
    """A thread exchanges values with one of its warp that does not take part."""


class Uninitialised(Refused):
    """A thread reads shared memory that no thread of its block wrote."""


def called(index: Sequence[int], extents: Sequence[int]) -> str:
    """A thread, block or program as its author thinks of it: `5`, and `(5, 1)` along two axes."""
    along = max((axis + 1 for axis, extent in enumerate(extents) if extent > 1), default=1)
    return str(index[0]) if along == 1 else str(tuple(map(int, index[:along])))


def runs_backwards(shapes: Iterable[Sequence[int]]) -> bool:
    """Whether launches of a call with arguments of these shapes start with their last block.

    So do the threads of a block. For one half of all shapes, always the same: a kernel whose last
    block takes for granted that all others are done is right in one of the two orders, and refused
    in the other; and so is one that hands out places in the order in which threads come.
    """
    return zlib.crc32(repr([tuple(shape) for shape in shapes]).encode()) % 2 == 1


def mirrored(index: Index, extents: Index) -> Index:
    """Where a block or program is when all of a launch are counted from the last."""
    x, y, z = (extent - 1 - at for at, extent in zip(index, extents, strict=True))
    return x, y, z


class Moments:
    """The moments of one launch, and which party each belongs to."""

    def __init__(self) -> None:
        self.now = 1
        self._begins: list[int] = []
        self._parties: list[object] = []

    def begin(self, party: object) -> int:
        """From now on, `party` acts; it is told as `str(party)`. Returns its first moment."""
        self.now += 1
        self._begins.append(self.now)
        self._parties.append(party)
        return self.now

    def number(self, moment: int) -> int:
        """Parties are numbered in the order in which they began."""
        return bisect_right(self._begins, moment) - 1

    def party(self, moment: int) -> object:
        return self._parties[self.number(moment)]


Heard = dict[int, int]  # for each party, up to which moment its writes are known of


class Order:
    """Which writes of others a party may rely on, because an atomic operation told it of them.

    A party that makes its writes visible and then updates an element atomically publishes them
    there; whoever updates that element later has heard of them, and of all that the first had heard
    of (release and acquire: PTX ISA, "Memory Consistency Model"). So "the last block adds up what
    the others left" and locks are no races.
    """

    def __init__(self) -> None:
        self.heard: Heard = {}  # by the party that acts; what it has made visible itself, too
        self._published: dict[int, Heard] = {}  # by the address of the atomic

    def exchange(self, address: int, publishes: bool = True, hears: bool = True) -> None:
        """The party that acts updates `address`, or looks at it."""
        there = self._published.get(address)
        if hears and there:
            merge(self.heard, there)
        if publishes and self.heard:
            merge(self._published.setdefault(address, {}), self.heard)

    def before(self, party: int, moment: int) -> bool:
        """Whether the acting party has heard of what another did at this moment."""
        return moment <= self.heard.get(party, 0)


def merge(into: Heard, more: Heard) -> None:
    for party, moment in more.items():
        if moment > into.get(party, 0):
            into[party] = moment
