"""Shuffles between the threads of a warp: the source of each value, and the threads that must come.

A shuffle waits for the threads of the warp in its mask, as a barrier does for those of a block.
Threads that have ended delay no other. A shuffle orders no accesses to memory (CUDA C++ Programming
Guide, "Warp Shuffle Functions": "these intrinsics do not imply a memory barrier").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

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


@dataclass(frozen=True)
class Exchange:
    """One thread's part in a shuffle."""

    shuffle: str  # one of SOURCES
    lane: int
    mask: int
    value: Any
    by: int  # the third argument: a lane, or how far away it is

    @classmethod
    def of(cls, shuffle: str, thread: Thread, mask: Any, value: Any, by: Any) -> Exchange:
        """Build a thread's part. Raises DivergentShuffle when the mask omits the thread itself."""
        mask, by = _whole("mask", mask, shuffle), _whole("by", by, shuffle)
        part = cls(shuffle, thread.lane, mask & EVERY_LANE, value, by % LANES)
        if not part.names(thread.lane):
            raise DivergentShuffle(
                f"thread {thread.index} calls cuda.{shuffle}, and the mask {part.mask:#x} leaves "
                f"out its own lane {thread.lane}: each thread that calls must be named"
            )
        return part

    @property
    def source(self) -> int:
        lane = SOURCES[self.shuffle](self.lane, self.by)
        return lane if 0 <= lane < LANES else self.lane

    def names(self, lane: int) -> bool:
        return bool(self.mask >> lane & 1)


def _whole(name: str, given: Any, shuffle: str) -> int:
    """Check an integer argument: with another type, no shuffle is compiled for a GPU."""
    if not isinstance(given, int | np.integer):
        raise TypeError(
            f"{name} in cuda.{shuffle}(mask, value, by) must be a whole number, not {given}"
        )
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


def exchanged(warp: Sequence[T]) -> list[tuple[T, Any]]:
    """Return the threads of a warp that can continue, each with the value that it gets.

    `warp` holds all that have not ended. Raises DivergentShuffle in a thread when some wait at a
    shuffle and none can continue, or when one requests the value of a lane that takes no part.
    """
    meetings = _meetings([thread for thread in warp if thread.exchange is not None])
    complete = [group for group in meetings if _missing(group, warp) is None]
    if meetings and not complete:
        _refuse_absence(meetings[0][0], _missing(meetings[0], warp))
    return [pair for group in complete for pair in _with_values(group)]


def _meetings(waiting: Sequence[T]) -> list[list[T]]:
    """Group the threads that wait at the same place with the same mask."""
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
    assert thread.exchange is not None, "only called for threads that wait at a shuffle"
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
    if missing.exchange is not None and thread.waits_with(missing):
        where = f"it comes with another mask, {missing.exchange.mask:#x}"
    thread.refuse(
        DivergentShuffle(
            f"thread {thread.index} calls cuda.{part.shuffle}, and the mask {part.mask:#x} names "
            f"thread {missing.index} of the same warp, which does not come: {where}"
        )
    )


def _with_values(group: Sequence[T]) -> Iterator[tuple[T, Any]]:
    """Pair each thread with the value of the lane that it requests."""
    values = {thread.lane: _exchange(thread).value for thread in group}
    for thread in group:
        part = _exchange(thread)
        if part.source not in values:
            why = "has ended, or is not in the block"
            if not part.names(part.source):
                why = f"is not in the mask {part.mask:#x}"
            thread.refuse(
                DivergentShuffle(
                    f"thread {thread.index} gets the value of lane {part.source} from "
                    f"cuda.{part.shuffle}, and that lane {why}: the value could be anything"
                )
            )
        yield thread, values[part.source]
