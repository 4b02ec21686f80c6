"""Races between the threads of one numba launch.

Barriers that all threads of a block pass order these threads; nothing orders blocks. Threads run
one after the other, each up to its next barrier: that stretch is a turn. The turns between two
barriers are an interval. A shuffle splits a turn in two, and orders nothing. Two accesses of one
block in one interval, or of two blocks, race, unless one thread makes both, both only read, both
are atomic, or an atomic operation orders them.
"""

from __future__ import annotations

import math
import sys
import types
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grader.backends.numba.simulator.access_log import Kind, Log
from grader.backends.numba.simulator.parent_arrays import Whole
from grader.backends.numba.simulator.source_text import (
    in_a_loop,
    parted_in_a_turn,
    uncalled_barrier,
)
from grader.worker.races import Order, Race, Uninitialised, VectorClock, merge
from grader.worker.source_sites import Site, line_of, quoted


class Array(Protocol):
    """An array as threads see it (arrays.py): the whole of it, or a part."""

    shape: tuple[int, ...]
    itemsize: int

    @property
    def whole(self) -> Whole: ...

    @property
    def named(self) -> str: ...

    def element(self, address: int) -> str:
        """Name the element of the current access."""

    def holds(self, index: Any, value: Any) -> bool:
        """Report whether a write of this value leaves the element's bits as they are."""


# Plain tuples, because a simulated thread spends much of its time here.
Done = tuple[int, Site]  # one access: its moment and its place
# Accesses of one kind to one element that a later one may race with: moment and place of the last;
# the last before it by another thread of the same block; the last by another block.
Lately = tuple[int, Site, Done | None, Done | None]
# A turn: its number, the moment, and the writes visible in it: in all, and in its warp alone.
Paused = tuple[int, int, VectorClock, VectorClock]
BLOCK_SCOPE = 1 << 40  # added to a turn's number: its writes are visible to its own block alone


class Threads:
    """The acting thread and block of one launch, and the writes of others visible to it."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = log
        self.now = 0
        # By moment: the number of the turn, which is its first moment, and the thread.
        self._turns: list[int] = [0]
        self._acted: list[object] = [None]
        self.turn = self.interval = self.block = 0  # the moments at which they began
        self.atomic: Site | None = None  # of the current atomic operation
        self.outside: Outside | None = None  # the last access that numpy refused
        self.from_end = (0, 0, 0)  # the last negative index: its turn, its address, the index
        self.race: Race | None = None  # within the acting block, and not raised yet
        self._order = Order()
        self._blocks: list[int] = []  # the moments at which they began
        self._indices: list[object] = []
        self._acquired_before: VectorClock = {}  # by the block's threads before the last barrier
        self._acquired_since: VectorClock = {}
        self._in_warp: VectorClock = {}  # by cuda.syncwarp, to the acting thread
        self._grid_met = 0  # the moment of the last barrier of the whole grid

    def begin_block(self, index: object) -> None:
        self.block = self.now + 1
        self._blocks.append(self.block)
        self._indices.append(index)
        self._order.acquired, self._acquired_before, self._acquired_since = {}, {}, {}

    def begin_interval(self) -> None:
        """Note that all threads passed a barrier: what was visible to one is now visible to all."""
        self.interval = self.now + 1
        merge(self._acquired_since, self._order.acquired)
        merge(self._acquired_before, self._acquired_since)
        self._order.acquired, self._acquired_since = {}, {}

    def begin_turn(self, thread: object) -> None:
        self.now = self.turn = now = self.now + 1
        self._turns.append(now)
        self._acted.append(thread)
        if self._in_warp:
            self._in_warp = {}
        if self._order.acquired or self._acquired_before:
            merge(self._acquired_since, self._order.acquired)
            self._order.acquired = dict(self._acquired_before)

    def pause(self) -> Paused:
        """Let the acting thread wait for others, but at no barrier."""
        acquired, self._order.acquired = self._order.acquired, {}
        merge(self._acquired_since, acquired)
        paused = self._turns[self.turn], self.now, acquired, self._in_warp
        self._go_on()
        return paused

    def meet_in_warp(self, paused: list[Paused]) -> list[Paused]:
        """Make visible to all of these threads what each has written and seen."""
        seen: VectorClock = {}
        for number, moment, _, in_warp in paused:
            merge(seen, in_warp)
            merge(seen, {number: moment})
        return [(number, moment, all_, dict(seen)) for number, moment, all_, _ in paused]

    def meet_in_grid(self) -> None:
        """Note that all threads of all blocks met: accesses before race with none after."""
        self._go_on()
        self._grid_met = self.now

    def resume(self, paused: Paused) -> None:
        """Let a thread that paused since the last barrier continue."""
        merge(self._acquired_since, self._order.acquired)
        number, _, self._order.acquired, self._in_warp = paused
        self._go_on(number)
        self.turn = self.now

    def _go_on(self, turn: int | None = None) -> None:
        """Begin a moment, of the acting thread's turn or of another that goes on."""
        turn = self._turns[self.turn] if turn is None else turn
        self.now += 1
        self._turns.append(turn)
        self._acted.append(self._acted[turn])

    def own(self, moment: int) -> bool:
        """Report whether the acting thread itself made this access since the last barrier."""
        return moment >= self.turn or (
            moment >= self.interval and self._turns[moment] == self._turns[self.turn]
        )

    def came_from_end(self, address: int) -> bool:
        """Report whether the acting thread reached this element by a negative index, this turn."""
        return self.from_end[:2] == (self.turn, address)

    def fence(self) -> None:
        """Make visible to all this thread's writes, and its block's before the last barrier."""
        self._order.acquired[self._turns[self.turn]] = self.now
        self._order.acquired[self._block_key(self.turn)] = self.interval - 1
        self._go_on()

    def fence_in_block(self) -> None:
        """Make visible to the threads of its block what this thread has written."""
        self._order.acquired[self._turns[self.turn] + BLOCK_SCOPE] = self.now
        self._go_on()

    def exchange(self, address: int) -> None:
        self._order.exchange(address)

    def name(self, moment: int) -> str:
        block = self._indices[bisect_right(self._blocks, moment) - 1]
        return f"thread {self._acted[moment]} of block {block}"

    def racing(self, moment: int) -> bool:
        """Report whether this moment's access and the current one race: nothing orders them."""
        if moment >= self.turn or self.block <= moment < self.interval:
            return False
        if moment < self._grid_met:
            return False
        number = self._turns[moment]
        return not (
            self.own(moment)
            or self._order.before(number, moment)
            or moment <= self._in_warp.get(number, 0)
            or (moment >= self.block and self._order.before(number + BLOCK_SCOPE, moment))
            or self._order.before(self._block_key(moment), moment)
        )

    def refuse_race(self) -> None:
        if self.race is not None:
            raise self.race

    def _block_key(self, moment: int) -> int:
        """Return a block's number as a party: blocks count down from -1, turns up from 1."""
        return -bisect_right(self._blocks, moment)


@dataclass(frozen=True)
class Outside:
    """An access with an index that numpy refused by this error, usually because it is too large."""

    error: IndexError
    array: Array
    index: Any
    kind: Kind
    site: Site

    @property
    def indices(self) -> tuple[int, ...]:
        """The numbers in the index, for each axis."""
        parts = self.index if isinstance(self.index, tuple) else (self.index,)
        return tuple(int(part) for part in parts if isinstance(part, int | np.integer))


class Memory:
    """The accesses to each element of a launch's global memory, or of a block's shared memory.

    Elements are identified by address, in units of the smallest dtype that views the memory.
    """

    def __init__(self, threads: Threads, shared: bool) -> None:
        self.threads = threads
        self._shared = shared
        self._unit = 0
        self._wrote: dict[int, Lately] = {}
        self._read: dict[int, Lately] = {}
        self._updated: dict[int, Lately] = {}
        self._unwritten: Uninitialised | None = None
        self._unwritten_places: list[int] = []  # in the log

    def fit(self, itemsize: int) -> None:
        """View the memory also as elements of this many bytes from now on."""
        unit = math.gcd(self._unit, itemsize)
        if self._unit not in (0, unit):
            for done in (self._wrote, self._read, self._updated):
                _refine(done, self._unit, unit)
        self._unit = unit

    def load(self, array: Array, address: int, size: int, site: Site) -> None:
        """Check a read of an element: plain, or the first part of an atomic operation."""
        threads = self.threads
        if threads.atomic is not None:
            self._update(array, address, threads.atomic)
            return
        if threads.log is not None:
            self._note(threads.log, array, address, "read", site)
        unit, stop = address, address + size
        while unit < stop:
            wrote = self._wrote.get(unit)
            if wrote is not None:
                self._check(wrote, array, address, "reads", "wrote")
            elif self._shared and unit not in self._updated:
                self._keep_unwritten(array, address)
            if self._updated:
                self._check_updates(self._updated.get(unit), array, address, "reads")
            read = self._read.get(unit)
            if read is None:
                self._read[unit] = (threads.now, site, None, None)
            elif read[0] < threads.turn:
                self._read[unit] = self._after(read, site)
            unit += self._unit

    def store(
        self, array: Array, address: int, size: int, site: Site, index: Any, value: Any
    ) -> None:
        """Check a write of an element, which has this index.

        The second part of an atomic operation needs no check: the first was checked.
        """
        threads = self.threads
        if threads.atomic is not None:
            return
        if threads.log is not None:
            self._note(threads.log, array, address, "write", site)
        unit, stop = address, address + size
        while unit < stop:
            read = self._read.get(unit)
            if read is not None:
                self._check(read, array, address, "writes", "read")
            if self._updated:
                self._check_updates(self._updated.get(unit), array, address, "writes")
            wrote = self._wrote.get(unit)
            if wrote is None:
                self._wrote[unit] = (threads.now, site, None, None)
            else:
                racing = self._racing(wrote)
                if racing is not None and not array.holds(index, value):
                    self._refuse(array, address, "writes another value to", racing, "wrote")
                self._wrote[unit] = self._after(wrote, site)
            unit += self._unit

    def _update(self, array: Array, address: int, site: Site) -> None:
        if self.threads.log is not None:
            self._note(self.threads.log, array, address, "update", site)
        for unit in range(address, address + array.itemsize, self._unit):
            wrote, updated = self._wrote.get(unit), self._updated.get(unit)
            if wrote is not None:
                self._check(wrote, array, address, "updates", "wrote")
            elif self._shared and updated is None:
                self._keep_unwritten(array, address)
            read = self._read.get(unit)
            if read is not None:
                self._check(read, array, address, "updates", "read")
            self._updated[unit] = self._after(updated, site)
        self.threads.exchange(address)

    def _note(self, log: Log, array: Array, address: int, kind: Kind, site: Site) -> None:
        now, from_end = self.threads.now, self.threads.came_from_end(address)
        log.note(array.whole, address, array.itemsize, kind, site, now, from_end)

    def _after(self, past: Lately | None, site: Site) -> Lately:
        threads = self.threads
        if past is None:
            return threads.now, site, None, None
        moment, _, before, elsewhere = past
        if moment >= threads.turn or threads.own(moment):
            return threads.now, site, before, elsewhere
        if moment < threads.block:
            return threads.now, site, None, past[:2]
        return threads.now, site, past[:2], elsewhere

    def _check(self, lately: Lately, array: Array, address: int, does: str, did: str) -> None:
        """Raise Race if one of these accesses and the current one are not ordered."""
        racing = self._racing(lately)
        if racing is not None:
            self._refuse(array, address, does, racing, did)

    def _racing(self, lately: Lately) -> Done | None:
        threads = self.threads
        moment, _, before, elsewhere = lately
        if (
            elsewhere is None
            and (moment >= threads.turn or threads.block <= moment < threads.interval)
            and (before is None or before[0] < threads.interval)
        ):
            return None  # the usual case: only this thread since the barrier, and only this block
        for done in (lately[:2], before, elsewhere):
            if done is not None and threads.racing(done[0]):
                return done
        return None

    def _check_updates(self, lately: Lately | None, array: Array, address: int, does: str) -> None:
        """Raise Race if the atomic updates of an element and the current access are not ordered.

        Updates of one element follow one another: an access after the last one is after all.
        """
        if lately is not None and self.threads.racing(lately[0]):
            self._refuse(array, address, does, lately[:2], "updated")

    def _refuse(self, array: Array, address: int, does: str, done: Done, did: str) -> None:
        """Raise Race, or keep it until the next barrier where both threads are of one block.

        If the threads then wait at different barriers, that is the cause of their race.
        """
        if self.threads.race is not None:
            return
        moment, site = done
        if self.threads.log is not None:
            self.threads.log.mark_race(address, moment, site)
        of_one_block = moment >= self.threads.block
        if of_one_block:
            both_write = did == "wrote" and does.startswith("writes")
            why = f"{_unparted(site, both_write)} it is left to chance which comes first"
        else:
            why = "blocks run in any order, so it is left to chance which comes first"
        race = Race(
            f"{self.threads.name(self.threads.turn)} {does} {array.element(address)}, which "
            f"{self.threads.name(moment)} {did} in {quoted(site)}: {why}"
        )
        if not of_one_block:
            raise race
        self.threads.race = race.with_traceback(_traceback_here())
        self.threads.log = None  # a drawing ends at the race

    # A read of an unwritten element is reported at the next barrier: if another thread writes it
    # before that, the two race, and the barrier between them is missing.

    def _keep_unwritten(self, array: Array, address: int) -> None:
        if self.threads.log is not None:
            self._unwritten_places.append(len(self.threads.log.accesses) - 1)
        if self._unwritten is None:
            error = Uninitialised(
                f"{self.threads.name(self.threads.turn)} reads {array.element(address)}, which no "
                "thread of the block has written"
            )
            self._unwritten = error.with_traceback(_traceback_here())

    def refuse_unwritten(self, ended: str) -> None:
        """Raise Uninitialised if an element was read that no thread had written."""
        if self._unwritten is not None:
            if ended:
                self._unwritten.args = (f"{self._unwritten}; {ended}",)
            if self.threads.log is not None:
                self.threads.log.mark_unwritten(self._unwritten_places)
            raise self._unwritten


def _unparted(site: Site, both_write: bool) -> str:
    """Explain from the text why nothing separates the earlier access from the current one.

    No barrier separates two writes by one line, unless a loop comes back to it.
    """
    code, line = site[0], line_of(site)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code is not code:
        frame = frame.f_back
    now = frame.f_lineno if frame.f_code is code else None
    if both_write and now == line and not in_a_loop(code, line):
        return "both run that line, so"
    named = uncalled_barrier(code)
    if named is not None:
        return f"as line {named} names a barrier and does not call it, with (),"
    if now is not None and parted_in_a_turn(code, line, now):
        return "with no barrier between one turn of the loop and the next,"
    return "with no barrier between the two,"


def _refine(done: dict[int, Any], old: int, new: int) -> None:
    for unit, what in list(done.items()):
        done.update(dict.fromkeys(range(unit, unit + old, new), what))


def _traceback_here() -> types.TracebackType | None:
    """Make the traceback that a failure of the current access would have."""
    traceback = None
    frame = sys._getframe(1)
    while frame.f_back is not None:
        traceback = types.TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return traceback
