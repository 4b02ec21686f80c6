"""Order between accesses: those of others that a program may rely on, because it acquired them.

A program that updates an element atomically releases there all that it did before. A program that
updates that element later, or looks at it, acquires this, and all that the first had acquired
(release and acquire: PTX ISA, "Memory Consistency Model"). Therefore "the last block adds up what
the others left", and locks, are not races.

Most launches never ask. So the exchanges are only kept as they come, and indexed at a question.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from grader.backends.triton.device.mappings import Places


@dataclass(frozen=True)
class _Exchange:
    """Programs that, one after the other, each updated the element at its address."""

    programs: Places
    addresses: Places
    releases: bool
    acquires: bool
    moment: int


@dataclass
class _Releases:
    """The programs that released at one address, and how much each had acquired by then."""

    programs: list[tuple[int, int]] = field(default_factory=list)
    # For each program, its moments of release, with the number of releases up to and with that one.
    moments: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


class Order:
    def __init__(self) -> None:
        self.released = False
        self._new: list[_Exchange] = []
        self._releases: dict[int, _Releases] = defaultdict(_Releases)
        # For each program: addresses, each with the number of releases that it acquired there.
        self._acquired: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def exchange(
        self, programs: Places, addresses: Places, releases: bool, acquires: bool, moment: int
    ) -> None:
        """Note that programs update an element each, or look at it, in this order."""
        self.released |= releases
        if releases or (acquires and self.released):
            self._new.append(_Exchange(programs, addresses, releases, acquires, moment))

    def before(self, program: int, other: int, moment: int) -> bool:
        """Report whether what another program did at a moment comes before all that follows."""
        self._index()
        seen: dict[int, int] = {}
        waiting = list(self._acquired[program])
        while waiting:
            address, count = waiting.pop()
            known = seen.get(address, 0)
            if count <= known:
                continue
            releases = self._releases[address]
            at = releases.moments.get(other, ())
            if any(number <= count and moment <= when for when, number in at):
                return True
            for releaser, acquired in releases.programs[known:count]:
                waiting += self._acquired[releaser][:acquired]
            seen[address] = count
        return False

    def _index(self) -> None:
        for each in self._new:
            lanes = zip(each.programs.tolist(), each.addresses.tolist(), strict=True)
            for program, address in lanes:
                releases, acquired = self._releases[address], self._acquired[program]
                if each.acquires and releases.programs:
                    acquired.append((address, len(releases.programs)))
                if each.releases:
                    releases.programs.append((program, len(acquired)))
                    releases.moments[program].append((each.moment, len(releases.programs)))
        self._new.clear()
