"""Threads of a warp that meet: shuffles, votes, matches, and cuda.syncwarp.

All of these wait for the threads of the warp in their mask, as a barrier does for those of a block.
Threads that have ended delay no other. Only syncwarp orders accesses to memory (CUDA C++
Programming Guide, "Warp Shuffle Functions": "these intrinsics do not imply a memory barrier").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from grader.backends.numba.simulator.bits import Mask
from grader.worker.races import DivergentShuffle
from grader.worker.source_sites import Site, quoted

LANES = 32  # in a warp
EVERY_LANE = 0xFFFFFFFF  # as a mask

# For each of cuda's shuffles, the lane that a lane gets its value from. The five lowest bits of the
# third argument count. A lane outside of the warp means the lane itself (PTX ISA, "shfl.sync").
SOURCES: Mapping[str, Callable[[int, int], int]] = {
    "shfl_sync": lambda lane, by: by,
    "shfl_up_sync": lambda lane, by: lane - by,
    "shfl_down_sync": lambda lane, by: lane + by,
    "shfl_xor_sync": lambda lane, by: lane ^ by,
}
Values = Mapping[int, Any]  # by lane


def _mask_of(lanes: Iterator[int]) -> Mask:
    return Mask.signed(sum(1 << lane for lane in lanes))


def _ballot(values: Values, lane: int) -> Mask:
    return _mask_of(each for each, value in values.items() if value)


def _match_any(values: Values, lane: int) -> Mask:
    own = _bytes(values[lane])
    return _mask_of(each for each, value in values.items() if _bytes(value) == own)


def _match_all(values: Values, lane: int) -> tuple[Mask, bool]:
    same = len({_bytes(value) for value in values.values()}) == 1
    return (_mask_of(iter(values)) if same else Mask(0)), same


def _bytes(value: Any) -> bytes:
    return np.asarray(value).tobytes()


# What each thread gets from a vote or a match, given the values of all who meet, and its own lane.
VOTES: Mapping[str, Callable[[Values, int], Any]] = {
    "all_sync": lambda values, lane: all(values.values()),
    "any_sync": lambda values, lane: any(values.values()),
    "eq_sync": lambda values, lane: len({bool(value) for value in values.values()}) == 1,
    "ballot_sync": _ballot,
    "match_any_sync": _match_any,
    "match_all_sync": _match_all,
    "syncwarp": lambda values, lane: None,
    "activemask": lambda values, lane: int(_mask_of(iter(values))) & EVERY_LANE,
}


@dataclass(frozen=True)
class Exchange:
    """One thread's part in a shuffle, a vote or a match."""

    name: str  # one of SOURCES or VOTES
    lane: int
    mask: int | None  # None: whoever comes, as for cuda.activemask
    value: Any
    by: int  # of a shuffle: a lane, or how far away it is

    @classmethod
    def of(cls, name: str, thread: Thread, mask: Any, value: Any, by: Any) -> Exchange:
        """Build a thread's part. Raises DivergentShuffle when the mask omits the thread itself."""
        if mask is None:
            return cls(name, thread.lane, None, value, 0)
        mask, by = _whole("mask", mask, name), _whole("by", by, name)
        part = cls(name, thread.lane, mask & EVERY_LANE, value, by % LANES)
        if not part.names(thread.lane):
            raise DivergentShuffle(
                f"thread {thread.index} calls cuda.{name}, and the mask {part.mask:#x} leaves "
                f"out its own lane {thread.lane}: each thread that calls must be named"
            )
        return part

    @property
    def source(self) -> int:
        lane = SOURCES[self.name](self.lane, self.by)
        return lane if 0 <= lane < LANES else self.lane

    @property
    def orders(self) -> bool:
        """Report whether writes before it are visible to all who met."""
        return self.name == "syncwarp"

    def names(self, lane: int) -> bool:
        return self.mask is None or bool(self.mask >> lane & 1)


def _whole(name: str, given: Any, operation: str) -> int:
    """Check an integer argument: with another type, nothing is compiled for a GPU."""
    if not isinstance(given, int | np.integer):
        called = "(mask, value, by)" if operation in SOURCES else "(mask, ...)"
        raise TypeError(f"{name} in cuda.{operation}{called} must be a whole number, not {given}")
    return int(given)


class Thread(Protocol):
    """A thread that has not ended; without an `exchange`, it waits at a barrier of its block."""

    index: Any
    lane: int
    exchange: Exchange | None

    def waits_with(self, other: Any) -> bool:
        """Report whether the other waits at the same place, reached by the same calls."""

    @property
    def site(self) -> Site:
        """The learner's line at which it waits."""

    def refuse(self, error: Exception) -> None:
        pass


T = TypeVar("T", bound=Thread)


def exchanged(warp: Sequence[T]) -> list[list[tuple[T, Any]]]:
    """Return the groups of threads of a warp that have met, each thread with the value it gets.

    `warp` holds all that have not ended. Raises DivergentShuffle in a thread when some wait for
    others and none can continue, or when one requests the value of a lane that takes no part.
    """
    meetings = _meetings([thread for thread in warp if thread.exchange is not None])
    named = [group for group in meetings if _exchange(group[0]).mask is not None]
    complete = [group for group in named if _missing(group, warp) is None]
    if not complete:  # nobody else can come now
        complete = [group for group in meetings if _exchange(group[0]).mask is None]
    if named and not complete:
        _refuse_absence(named[0][0], _missing(named[0], warp))
    return [list(_with_values(group)) for group in complete]


def _meetings(waiting: Sequence[T]) -> list[list[T]]:
    groups: list[list[T]] = []
    for thread in waiting:
        for group in groups:
            if _exchange(group[0]).mask == _exchange(thread).mask and group[0].waits_with(thread):
                group.append(thread)
                break
        else:
            groups.append([thread])
    return groups


def _exchange(thread: Thread) -> Exchange:
    assert thread.exchange is not None, "only called for threads that wait for others of a warp"
    return thread.exchange


def _missing(group: Sequence[T], warp: Sequence[T]) -> T | None:
    """Return a thread of the warp that this group's mask names and that is not in the group."""
    here = {thread.lane for thread in group}
    part = _exchange(group[0])
    absent = (other for other in warp if other.lane not in here and part.names(other.lane))
    return next(absent, None)


def _refuse_absence(thread: T, missing: T | None) -> None:
    assert missing is not None
    part = _exchange(thread)
    where = f"it waits in {quoted(missing.site)}"
    other = missing.exchange
    if other is not None and other.mask is not None and thread.waits_with(missing):
        where = f"it comes with another mask, {other.mask:#x}"
    thread.refuse(
        DivergentShuffle(
            f"thread {thread.index} calls cuda.{part.name}, and the mask {part.mask:#x} names "
            f"thread {missing.index} of the same warp, which does not come: {where}"
        )
    )


def _with_values(group: Sequence[T]) -> Iterator[tuple[T, Any]]:
    values = {thread.lane: _exchange(thread).value for thread in group}
    for thread in group:
        part = _exchange(thread)
        if part.name in VOTES:
            yield thread, VOTES[part.name](values, part.lane)
            continue
        if part.source not in values:
            why = "never calls it, or is not in the block"
            if not part.names(part.source):
                why = f"is not in the mask {part.mask:#x}"
            thread.refuse(
                DivergentShuffle(
                    f"thread {thread.index} gets the value of lane {part.source} from "
                    f"cuda.{part.name}, and that lane {why}: the value could be anything"
                )
            )
        yield thread, values[part.source]
