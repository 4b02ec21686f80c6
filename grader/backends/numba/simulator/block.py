"""One block of a launch: its threads run one after the other, each up to its next barrier.

Unordered accesses of several threads to one element are refused (races.py), always at the same
place.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, NoReturn

from grader.backends.numba.simulator.memory import Shared
from grader.backends.numba.simulator.module import Cuda
from grader.backends.numba.simulator.races import Memory, Outside
from grader.backends.numba.simulator.source_text import has_return
from grader.backends.numba.simulator.thread import POOL, Index, Thread
from grader.backends.numba.simulator.warps import exchanged
from grader.worker import races
from grader.worker.bounds import OutOfBounds
from grader.worker.source_sites import quoted

_NUMPY_INDEX_ERROR = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")
_PYTHON_UNSET = re.compile(r"local variable '(\w+)'")
_ORDINALS = ("first", "second", "third", *(f"{number}th" for number in range(4, 65)))  # of axes


class Block:
    """Runs the threads of one block, one after the other, from barrier to barrier."""

    backwards = False  # whether blocks, and threads of a block, run from the last to the first

    def __init__(self, cuda: Cuda, at: races.Index, function: Any, args: tuple[Any, ...]) -> None:
        self._cuda, self._launch, self._acting = cuda, cuda.launch, cuda.launch.threads
        self._names = cuda.names
        self._call = (function, *args)
        self._grid_dim, self._block_dim = self._launch.extents
        self._index = Index(
            races.mirrored(at, self._grid_dim) if self.backwards else at, self._grid_dim
        )
        self._memory = Memory(self._launch.threads, shared=True)
        self._shared = Shared(self._launch.dynamic_bytes, self._memory)
        self._waiting = POOL.take(math.prod(self._block_dim))
        for number, (thread, index) in enumerate(
            zip(self._waiting, self._launch.indices, strict=True)
        ):
            thread.begin(self._call, index, number, number % cuda.warpsize)
        if self.backwards:
            self._waiting.reverse()
        self._steps = 0  # from barrier to barrier

    def run(self) -> bool:
        """Run to the end, or to a barrier of the whole grid; report whether it waits there."""
        self._launch.enter_block(self._index, self._steps, *self._call)
        self._cuda.enter_block(self._index, self._shared)
        verdict = (0, 0)
        while self._waiting:
            self._resume_all(self._waiting, verdict)
            self._steps += 1
            # A thread that has ended counts as arrived at every barrier, and has no vote: a
            # barrier waits for "all non-exited threads in the block" (CUDA C++ Programming
            # Guide, compute capability 7.x, "Independent Thread Scheduling").
            POOL.give_back([thread for thread in self._waiting if thread.ended])
            self._waiting = [thread for thread in self._waiting if not thread.ended]
            verdict = (sum([thread.vote for thread in self._waiting]), len(self._waiting))
            if self._waiting and self._waiting[0].of_grid:
                return True
        return False

    def end(self) -> None:
        """End its threads, wherever they wait."""
        for thread in self._waiting:
            thread.throw()

    def refuse_absence(self, ended: Index) -> None:
        """Raise DivergentBarrier at the grid's barrier, to which a block has not come."""
        thread = self._waiting[0]
        thread.throw(
            races.DivergentBarrier(
                f"thread {thread.index} of block {self._index} waits at the barrier of the grid in "
                f"{quoted(thread.site)}, and block {ended} has ended without it: all threads of "
                "the grid must meet there"
            )
        )

    @property
    def index(self) -> Index:
        return self._index

    def _resume_all(self, threads: list[Thread], verdict: tuple[int, int]) -> None:
        self._launch.pass_barrier(threads)
        every = math.prod(self._block_dim)
        ended_threads = every - len(threads)
        ended = f"{ended_threads} of its {every} threads had ended before" if ended_threads else ""
        try:
            self._run(threads, verdict)
        except Exception as error:  # a race may have caused it
            self._launch.threads.refuse_race()
            if isinstance(error, OutOfBounds):
                self._memory.refuse_unwritten(ended)  # the index may come from there
            raise
        _must_meet(threads, self._index)
        self._launch.threads.refuse_race()
        self._memory.refuse_unwritten(ended)

    def _run(self, threads: list[Thread], verdict: tuple[int, int]) -> None:
        self._shuffled = False  # whether a thread came to a shuffle since the last barrier
        for thread in threads:
            self._resume(thread, verdict)
        if not self._shuffled:
            return
        size = self._cuda.warpsize
        for _, warp in itertools.groupby(threads, lambda thread: thread.number // size):
            lanes = list(warp)
            while groups := exchanged([thread for thread in lanes if not thread.ended]):
                for group in groups:
                    self._meet([thread for thread, _ in group])
                for thread, value in itertools.chain.from_iterable(groups):
                    self._resume(thread, value)

    def _meet(self, threads: list[Thread]) -> None:
        """Make what was written before visible to all, if they met at cuda.syncwarp."""
        exchange = threads[0].exchange
        if exchange is not None and exchange.orders:
            paused = [thread.paused for thread in threads if thread.paused is not None]
            seen = self._launch.threads.meet_in_warp(paused)
            for thread, each in zip(threads, seen, strict=True):
                thread.paused = each

    def _resume(self, thread: Thread, handed: Any) -> None:
        cuda, acting = self._cuda, self._acting
        cuda.running, cuda.threadIdx, cuda.laneid = thread, thread.index, thread.lane
        if self._names.moving:
            self._names.move()
        if thread.paused is None:
            acting.begin_turn(thread.index)
        else:
            acting.resume(thread.paused)
            thread.exchange = thread.paused = None
        if self._launch.log is not None:
            self._launch.log.begin_thread(thread.number)
        try:
            thread.switch(handed)
        except IndexError as error:
            self._explain(thread, error)
        except UnboundLocalError as error:
            self._refuse_unset(thread, error)
        if acting.outside is not None:
            caught = acting.outside.error
            self._explain(thread, caught, " A GPU stops nothing there that could be caught.")
        if thread.exchange is not None:
            self._shuffled = True
            thread.paused = acting.pause()

    def _refuse_unset(self, thread: Thread, error: UnboundLocalError) -> NoReturn:
        name = _PYTHON_UNSET.search(str(error))
        raise races.Uninitialised(
            f"thread {thread.index} of block {self._index} uses {name[1] if name else 'a variable'}"
            ", and has not set it before"
        ).with_traceback(error.__traceback__) from None

    def _explain(self, thread: Thread, error: IndexError, more: str = "") -> NoReturn:
        """Raise OutOfBounds with the thread, its index, the array, and `more`."""
        match = _NUMPY_INDEX_ERROR.search(str(error))
        if match is None:
            raise error
        index, axis, extent = map(int, match.groups())
        name, axes = "an array", axis + 1
        outside = self._launch.outside(error)
        if outside is not None:
            name, axes = outside.array.named, len(outside.array.shape)
        used = f"index {index} of {name}, which has"
        if axes > 1:
            used = f"{index} as the {_ORDINALS[axis]} index of {name}, where it has"
        elements = "1 element" if extent == 1 else f"{extent} elements"
        raise OutOfBounds(
            f"thread {thread.index} of block {self._index} uses {used} {elements}"
            f"{self._question(thread, index, extent, outside)}{more}"
        ).with_traceback(error.__traceback__) from None

    def _question(self, thread: Thread, index: int, extent: int, outside: Outside | None) -> str:
        missing = "is a bounds check missing?"
        if outside is not None and len(outside.indices) == len(outside.array.shape) == 2:
            turned = zip(reversed(outside.indices), outside.array.shape, strict=True)
            if all(0 <= at < size for at, size in turned):
                inside = "and would be inside with its two indices exchanged"
                return f", {inside}: are they, or {missing}"
        if index == extent and index not in self._own(thread):
            return f", so it is one past the last: is the index one too large, or {missing}"
        return f": {missing}"

    def _own(self, thread: Thread) -> set[int]:
        # Numbers of the thread and of its block, and the thread's number in the grid.
        threads, blocks = ((each.x, each.y, each.z) for each in (thread.index, self._index))
        along = zip(threads, blocks, self._block_dim, strict=True)
        return {*threads, *blocks, *(at + block * wide for at, block, wide in along)}


def _must_meet(threads: list[Thread], block: Index) -> None:
    """Raise DivergentBarrier in a waiting thread unless all that have not ended wait with it.

    A thread may end early, by `return`. A thread that ends otherwise has passed the barrier by.
    """
    waiting = [thread for thread in threads if not thread.ended]
    if not waiting:
        return
    first, place = waiting[0], waiting[0].barrier
    for thread in threads:
        if not thread.ended and thread.barrier != place and not thread.waits_with(first):
            thread.throw(
                races.DivergentBarrier(
                    f"thread {thread.index} of block {block} waits at the barrier in "
                    f"{quoted(thread.site)}, and thread {first.index} at that in "
                    f"{quoted(first.site)}: all threads of a block must meet at one"
                )
            )
        if thread.ended and not has_return(thread.call[0].__code__):
            first.throw(
                races.DivergentBarrier(
                    f"thread {first.index} of block {block} waits at the barrier in "
                    f"{quoted(first.site)}, and thread {thread.index} goes past it to the "
                    "end of the kernel: all threads of a block must meet at one"
                )
            )
