"""A CUDA thread as a function that can pause: it runs up to a barrier or shuffle, and waits.

The simulator starts an operating system thread for every CUDA thread. That is slow, and the order
changes from run to run. Here a CUDA thread is a greenlet. The code that runs its block switches to
it (block.py), and it switches back where it waits.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from types import CodeType, FrameType
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from grader.backends.numba.refusals import NotCompiled
from grader.backends.numba.simulator.launch_limits import MAX_THREADS
from grader.backends.numba.simulator.races import Paused
from grader.backends.numba.simulator.source_text import require_compilable, returned_at
from grader.backends.numba.simulator.warps import Exchange
from grader.worker import races
from grader.worker.source_sites import Place, Site, place_of

# Where a thread waits: an instruction, whether it is a barrier of the whole grid, and the calls
# that led there.
Barrier = tuple[CodeType, int, bool, tuple[Site, ...]]


class Index:
    """The index of a thread or block, written with as many axes as the launch has."""

    def __init__(self, index: races.Index, extents: races.Index) -> None:
        self.x, self.y, self.z = index
        self._extents = extents

    def __str__(self) -> str:
        return races.index_text((self.x, self.y, self.z), self._extents)

    def __repr__(self) -> str:
        return str((self.x, self.y, self.z))


# A greenlet does not inherit numpy's settings: like a GPU, it must not stop at Inf and NaN.
_QUIET = copy_context()
_QUIET.run(np.seterr, all="ignore")


class Thread(greenlet):
    """One CUDA thread. Every switch into it passes the result of what it waited for."""

    # A greenlet's dictionary takes longer to read.
    __slots__ = (
        "_callers",
        "_frame",
        "barrier",
        "call",
        "ended",
        "exchange",
        "index",
        "lane",
        "number",
        "paused",
        "vote",
    )

    def __init__(self) -> None:
        super().__init__()
        self.gr_context = _QUIET.copy()  # type: ignore[misc]  # mypy misses that of a greenlet

    def begin(self, call: tuple[Any, ...], index: Index, number: int, lane: int) -> None:
        """Stand for this thread from now on, which calls a kernel at the next switch."""
        self.call = call
        self.index = index
        self.number = number
        self.lane = lane
        self.ended = False
        self._frame: FrameType | None = None
        self.vote = False  # at a barrier of the block
        self.exchange: Exchange | None = None  # its part in what it waits for in its warp
        self.paused: Paused | None = None

    def run(self, _: object) -> None:
        while True:
            function, *args = self.call
            require_compilable(function.__code__)
            if function(*args) is not None:
                raise NotCompiled(
                    "it returns a value, and nobody gets it", returned_at(function.__code__)
                )
            self.ended = True
            del function, args
            self._frame = None
            self.parent.switch()

    # The parent of a greenlet is the one that made it: here, the one that runs the block.

    def wait(self, vote: bool, of_grid: bool = False) -> tuple[int, int]:
        """Wait at a barrier; return the votes in favour and all votes, once all threads arrived.

        Call it, like `meet`, directly from the function that the learner's code calls.
        """
        frame = sys._getframe(2)  # the caller of the barrier: no frame of ours
        if frame is not self._frame:
            self._enter(frame)
        self.barrier, self.vote = (frame.f_code, frame.f_lasti, of_grid, self._callers), vote
        verdict: tuple[int, int] = self.parent.switch()
        return verdict

    def meet(self, name: str, mask: Any, value: Any, by: Any = 0) -> Any:
        """Return what a shuffle, vote or match gives, once all threads of the mask have come."""
        frame = sys._getframe(2)
        self._enter(frame)
        self.barrier, self.vote = (frame.f_code, frame.f_lasti, False, self._callers), False
        self.exchange = Exchange.of(name, self, mask, value, by)
        return self.parent.switch()

    def _enter(self, frame: FrameType) -> None:
        """Note the calls that led to this frame: as long as it lives, they stay where they are."""
        self._frame, self._callers = frame, _callers(frame)

    def waits_with(self, other: Thread) -> bool:
        if self.of_grid != other.of_grid:
            return False
        return self.barrier == other.barrier or _places(self) == _places(other)

    @property
    def site(self) -> Site:
        return self.barrier[:2]

    @property
    def of_grid(self) -> bool:
        return self.barrier[2]

    def refuse(self, error: Exception) -> None:
        self.throw(error)


class Pool:
    """Threads that have ended: others take their greenlets, whose stacks are slow to make."""

    def __init__(self) -> None:
        self._parent = getcurrent()
        self._ended: list[Thread] = []

    def take(self, count: int) -> list[Thread]:
        """Return threads that can begin, of the greenlet that runs."""
        if self._parent is not getcurrent():
            self._parent, self._ended = getcurrent(), []
        taken, self._ended = self._ended[:count], self._ended[count:]
        return taken + [Thread() for _ in range(count - len(taken))]

    def give_back(self, threads: list[Thread]) -> None:
        for thread in threads:
            thread.call = ()  # nothing of the launch stays alive
        self._ended = [*self._ended, *threads][:MAX_THREADS]


POOL = Pool()


def _callers(frame: FrameType) -> tuple[Site, ...]:
    """Return the calls that led to a frame of the learner's, from the last to the kernel's."""
    sites = []
    while (back := frame.f_back) is not None and back.f_code is not _RUN:
        sites.append((back.f_code, back.f_lasti))
        frame = back
    return tuple(sites)


_RUN = Thread.run.__code__


def _places(thread: Thread) -> list[Place]:
    """Return the places in the text of a thread's barrier and of the calls that led there."""
    return list(map(place_of, (thread.site, *thread.barrier[3])))
