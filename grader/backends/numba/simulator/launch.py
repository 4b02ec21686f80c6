"""The state that the blocks of one launch share: acting thread, global memory, log."""

from __future__ import annotations

from typing import Any

from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.arrays import Array
from grader.backends.numba.simulator.races import Memory, Outside, Paused, Threads
from grader.worker.races import Index


class Launch:
    """Forwards the acting block and thread to the race check and to the log."""

    log: Log | None = None  # of all launches, while one is requested

    def __init__(self, grid: Index, block: Index, dynamic_bytes: int) -> None:
        self._grid = grid
        self._block = block
        self.dynamic_bytes = dynamic_bytes  # of shared memory, for each block
        self.threads = Threads(self.log)
        self.memory = Memory(self.threads, shared=False)
        self._begun = False  # whether any block was entered

    def enter_block(self, index: Any, steps: int, function: Any, *args: object) -> None:
        """Let a block act: it starts, or continues after a barrier of the grid with `steps`."""
        if self.log is not None:
            if not self._begun:
                self._begin(self.log, function, *args)
                self._begun = True
            self.log.begin_block(_number(index, self._grid), steps)
        self.threads.begin_block(index)

    def _begin(self, log: Log, function: Any, *args: object) -> None:
        names = function.__code__.co_varnames
        arrays = {
            name: arg.whole
            for name, arg in zip(names, args, strict=False)
            if isinstance(arg, Array)
        }
        log.begin_launch(function.__name__, self._grid, self._block, arrays)

    @property
    def extents(self) -> tuple[Index, Index]:
        """The launch's blocks, and the threads of a block."""
        return self._grid, self._block

    def pass_barrier(self) -> None:
        """Note that all threads of the block have passed a barrier, or start."""
        self.threads.begin_interval()
        if self.log is not None:
            self.log.begin_step()

    def turn_to(self, index: object, number: int, paused: Paused | None) -> None:
        """Let a thread of the block continue: after a barrier, or where it paused."""
        if paused is None:
            self.threads.begin_turn(index)
        else:
            self.threads.resume(paused)
        if self.log is not None:
            self.log.begin_thread(number)

    def outside(self, error: IndexError) -> Outside | None:
        """Return and log the array access that caused this error; None if no array access did."""
        access = self.threads.outside
        if access is None or access.error is not error:
            return None
        if self.log is not None:
            self.log.note_outside(access.array.whole, access.indices, access.kind, access.site)
        return access


def _number(index: Any, extents: Index) -> int:
    # x runs fastest.
    across, down, _ = extents
    return int(index.x + across * (index.y + down * index.z))
