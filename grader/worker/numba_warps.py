"""How the threads of a warp exchange values: whose value each gets, and who must come to a shuffle.

A shuffle waits for the threads of the warp that its mask names, as a barrier does for those of a
block; those that have ended keep nobody waiting. It orders no accesses to memory (CUDA C++
Programming Guide, "Warp Shuffle Functions": "these intrinsics do not imply a memory barrier").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from grader.worker.races import DivergentShuffle, Site, quoted

LANES = 32  # in a warp
EVERY_LANE = 0xFFFFFFFF  # as a mask

# For each of cuda's shuffles, from whose lane a lane gets its value. Of the third argument the five
# lowest bits count. A lane that none of the warp has means one's own (PTX ISA, "shfl.sync").
SOURCES: Mapping[str, Callable[[int, int], int]] = {
    "shfl_sync": lambda lane, by: by,
    "shfl_up_sync": lambda lane, by: lane - by,
    "shfl_down_sync": lambda lane, by: lane + by,
    "shfl_xor_sync": lambda lane, by: lane ^ by,
}


@dataclass(frozen=True)
class Exchange:
    """What one thread brings to a shuffle."""

    shuffle: str  # one of SOURCES
    lane: int
    mask: int
    value: Any
    by: int  # the third argument: a lane, or how far away it is

    @classmethod
    def of(cls, shuffle: str, thread: Thread, mask: Any, value: Any, by: Any) -> Exchange:
        """Raises DivergentShuffle where the mask leaves the thread itself out."""
        asked = cls(shuffle, thread.lane, int(mask) & EVERY_LANE, value, int(by) % LANES)
        if not asked.names(thread.lane):
            raise DivergentShuffle(
                f"thread {thread.index} calls cuda.{shuffle}, and the mask {asked.mask:#x} leaves "
                f"out its own lane {thread.lane}: each thread that calls must be named"
            )
        return asked

    @property
    def source(self) -> int:
        lane = SOURCES[self.shuffle](self.lane, self.by)
        return lane if 0 <= lane < LANES else self.lane

    def names(self, lane: int) -> bool:
        return bool(self.mask >> lane & 1)


class Thread(Protocol):
    """A thread that has not ended; without an `exchange`, it waits at a barrier of its block."""

    index: Any
    lane: int
    exchange: Exchange | None

    def waits_with(self, other: Any) -> bool:
        """Whether the other waits at the same place, to which the same calls led."""

    @property
    def site(self) -> Site:
        """The learner's line at which it waits."""

    def refuse(self, error: Exception) -> None:
        """Raise the error at that line."""


T = TypeVar("T", bound=Thread)


def exchanged(warp: Sequence[T]) -> list[tuple[T, Any]]:
    """The threads of a warp that can go on, each with the value that it gets.

    `warp` holds all that have not ended. Raises DivergentShuffle, in a thread, where some wait at a
    shuffle and none can go on, or where one asks for the value of a lane that takes no part.
    """
    waiting = [thread for thread in warp if thread.exchange is not None]
    ready = [thread for thread in waiting if _missing(thread, warp) is None]
    if waiting and not ready:
        first = waiting[0]
        _refuse_absence(first, _missing(first, warp))
    return [(thread, _value_for(thread, ready)) for thread in ready]


def _missing(thread: T, warp: Sequence[T]) -> T | None:
    """One whom this thread's mask names, and who does not wait at the same shuffle."""
    asked = thread.exchange
    assert asked is not None
    for other in warp:
        theirs = other.exchange
        if asked.names(other.lane) and (
            theirs is None or theirs.mask != asked.mask or not thread.waits_with(other)
        ):
            return other
    return None


def _refuse_absence(thread: T, missing: T | None) -> None:
    assert thread.exchange is not None
    assert missing is not None
    name, mask = thread.exchange.shuffle, thread.exchange.mask
    where = f"it waits in {quoted(missing.site)}"
    if missing.exchange is not None and thread.waits_with(missing):
        where = f"it comes with another mask, {missing.exchange.mask:#x}"
    thread.refuse(
        DivergentShuffle(
            f"thread {thread.index} calls cuda.{name}, and the mask {mask:#x} names thread "
            f"{missing.index} of the same warp, which does not come: {where}"
        )
    )


def _value_for(thread: T, ready: Sequence[T]) -> Any:
    asked = thread.exchange
    assert asked is not None
    for other in ready:
        theirs = other.exchange
        if theirs is not None and asked.names(other.lane) and other.lane == asked.source:
            return theirs.value
    why = "has ended, or is not in the block"
    if not asked.names(asked.source):
        why = f"is not in the mask {asked.mask:#x}"
    return thread.refuse(
        DivergentShuffle(
            f"thread {thread.index} gets the value of lane {asked.source} from "
            f"cuda.{asked.shuffle}, and that lane {why}: the value could be anything"
        )
    )
