"""The state that the blocks of one launch share: acting thread, global memory, log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.arrays import Array
from grader.backends.numba.simulator.races import Memory, Outside, Threads
from grader.backends.numba.simulator.thread import Index, Thread
from grader.worker import races


class Launch:
    """Forwards the acting block and thread to the race check and to the log."""

    log: Log | None = None  # of all launches, while one is requested

    def __init__(self, grid: races.Index, block: races.Index, dynamic_bytes: int) -> None:
        self._grid = grid
        self._block = block
        self.dynamic_bytes = dynamic_bytes  # of shared memory, for each block
        self.threads = Threads(self.log)
        self.memory = Memory(self.threads, shared=False)
        # Of the threads of each block. x runs fastest, as in a GPU's thread numbers.
        self.indices = [Index((x, y, z), block) for z, y, x in np.ndindex(*reversed(block))]
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
    def extents(self) -> tuple[races.Index, races.Index]:
        """The launch's blocks, and the threads of a block."""
        return self._grid, self._block

    def pass_barrier(self, threads: Sequence[Thread]) -> None:
        """Note that these threads of the block have all passed a barrier, or start."""
        self.threads.begin_interval()
        if self.log is not None:
            self.log.begin_step(thread.number for thread in threads)

    def outside(self, error: IndexError) -> Outside | None:
        """Return and log the array access that caused this error; None if no array access did."""
        access = self.threads.outside
        if access is None or access.error is not error:
            return None
        if self.log is not None:
            self.log.note_outside(access.array.whole, access.indices, access.kind, access.site)
        return access


def _number(index: Any, extents: races.Index) -> int:
    # x runs fastest.
    across, down, _ = extents
    return int(index.x + across * (index.y + down * index.z))
