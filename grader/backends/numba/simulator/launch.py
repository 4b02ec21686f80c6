"""What the blocks of one launch share: who acts, the global memory, and what is logged."""

from __future__ import annotations

from typing import Any

from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.arrays import Array
from grader.backends.numba.simulator.races import Memory, Outside, Paused, Threads
from grader.worker.races import Index


class Launch:
    """Is told which block and which thread acts, for those that look for races, and for the log."""

    log: Log | None = None  # of all launches, while somebody asks for it

    def __init__(self, grid: Index, block: Index, dynamic_bytes: int) -> None:
        self._grid = grid
        self._block = block
        self.dynamic_bytes = dynamic_bytes  # of shared memory, for each block
        self.threads = Threads(self.log)
        self.memory = Memory(self.threads, shared=False)
        self._begun = False  # whether any block was entered

    def enter_block(self, index: Any, function: Any, *args: object) -> None:
        if self.log is not None:
            if not self._begun:
                self._begin(self.log, function, *args)
                self._begun = True
            self.log.begin_block(_number(index, self._grid))
        self.threads.begin_block(index)

    def _begin(self, log: Log, function: Any, *args: object) -> None:
        names = function.__code__.co_varnames
        arrays = {
            name: arg.whole
            for name, arg in zip(names, args, strict=False)
            if isinstance(arg, Array)
        }
        log.begin_launch(function.__name__, self._grid, self._block, arrays)

    def pass_barrier(self) -> None:
        """All threads of the block have passed one, or start."""
        self.threads.begin_interval()
        if self.log is not None:
            self.log.begin_step()

    def turn_to(self, index: object, number: int, paused: Paused | None) -> None:
        """A thread of the block goes on: after a barrier, or where it paused."""
        if paused is None:
            self.threads.begin_turn(index)
        else:
            self.threads.resume(paused)
        if self.log is not None:
            self.log.begin_thread(number)

    def outside(self, error: IndexError) -> Outside | None:
        """The access that led to this error, which is noted, if it was one to an array."""
        found = self.threads.outside
        if found is None or found.error is not error:
            return None
        if self.log is not None:
            self.log.note_outside(found.array.whole, found.indices, found.kind, found.site)
        return found


def _number(index: Any, extents: Index) -> int:
    """Of a block in its grid: x runs fastest."""
    across, down, _ = extents
    return int(index.x + across * (index.y + down * index.z))
