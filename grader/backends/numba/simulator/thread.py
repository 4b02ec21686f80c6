"""A CUDA thread as a function that can pause: it runs up to a barrier or shuffle, and waits.

The simulator starts an operating system thread for every CUDA thread. That is slow, and the order
changes from run to run. Here a CUDA thread is a greenlet. The code that runs its block switches to
it (block.py), and it switches back where it waits.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from typing import Any

import numpy as np
from greenlet import greenlet

from grader.backends.numba.simulator.races import Paused
from grader.backends.numba.simulator.source_text import require_compilable
from grader.backends.numba.simulator.warps import Exchange
from grader.worker import races
from grader.worker.source_sites import Place, Site, place_of


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

    def __init__(self, call: tuple[Any, ...], index: Index, number: int, lane: int) -> None:
        super().__init__()
        self.gr_context = _QUIET.copy()
        self.call = call
        self.index = index
        self.number = number
        self.lane = lane
        self.barrier: tuple[Site, ...] = ()  # where it waits, and the calls that led there
        self.of_grid = False  # whether that is a barrier of the whole grid
        self.vote = False  # at a barrier of the block
        self.exchange: Exchange | None = None  # its part in what it waits for in its warp
        self.paused: Paused | None = None

    def run(self, _: object) -> None:
        function, *args = self.call
        require_compilable(function.__code__)
        if function(*args) is not None:
            raise TypeError(f"the kernel {function.__name__} returns a value, and nobody gets it")

    # The parent of a greenlet is the one that made it: here, the one that runs the block.

    def wait(self, vote: bool, of_grid: bool = False) -> tuple[int, int]:
        """Wait at a barrier; return the votes in favour and all votes, once all threads arrived.

        Call it, like `meet`, directly from the function that the learner's code calls.
        """
        self.barrier, self.of_grid = _calls(), of_grid
        verdict: tuple[int, int] = self.parent.switch(vote)
        return verdict

    def meet(self, name: str, mask: Any, value: Any, by: Any = 0) -> Any:
        """Return what a shuffle, vote or match gives, once all threads of the mask have come."""
        self.barrier, self.of_grid = _calls(), False
        self.exchange = Exchange.of(name, self, mask, value, by)
        return self.parent.switch(False)

    def waits_with(self, other: Thread) -> bool:
        if self.of_grid != other.of_grid:
            return False
        return self.barrier == other.barrier or _places(self) == _places(other)

    @property
    def site(self) -> Site:
        return self.barrier[0]

    def refuse(self, error: Exception) -> None:
        self.throw(error)


def _calls() -> tuple[Site, ...]:
    """Return the calls of the running thread in the learner's code, innermost first."""
    sites = []
    frame = sys._getframe(3)  # the caller of the barrier: no frame of ours
    run = Thread.run.__code__
    while frame.f_code is not run:
        sites.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back  # type: ignore[assignment]  # there always is one below run
    return tuple(sites)


def _places(thread: Thread) -> list[Place]:
    """Return the places in the text of a thread's barrier and of the calls that led there."""
    return list(map(place_of, thread.barrier))
