"""The name `cuda` inside a kernel: barriers, shuffles, atomics, cooperative groups."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable
from typing import Any

from grader.backends.numba.simulator.arrays import NotSimulated
from grader.backends.numba.simulator.internals import FakeCUDAAtomic, FakeCUDAModule, call_in_errors
from grader.backends.numba.simulator.launch import Launch
from grader.backends.numba.simulator.launch_limits import check_launch
from grader.backends.numba.simulator.memory import Local, Shared
from grader.backends.numba.simulator.races import Threads
from grader.backends.numba.simulator.thread import Thread
from grader.backends.numba.simulator.warps import SOURCES
from grader.worker.races import Index


class Cuda(FakeCUDAModule):
    """The `cuda` of one launch; it acts for the running thread."""

    # Plain attributes, set before a thread runs. The simulator would look them up by OS thread.
    threadIdx: Any = None
    blockIdx: Any = None
    laneid = 0

    def __init__(self, grid_dim: Index, block_dim: Index, dynamic_bytes: int) -> None:
        check_launch(grid_dim, block_dim, dynamic_bytes)
        super().__init__(grid_dim, block_dim, dynamic_bytes)
        self.launch = Launch(grid_dim, block_dim, dynamic_bytes)
        self._atomic = _Atomic(self.launch.threads)
        self._local = Local()
        self._cg = _Groups(self)

    def enter_block(self, index: Any, shared: Shared) -> None:
        self.blockIdx = index
        self._shared = shared

    def turn_to(self, thread: Thread) -> None:
        self.running = thread
        self.threadIdx = thread.index
        self.laneid = thread.lane

    def syncthreads(self) -> None:
        self.running.wait(False)

    def syncthreads_count(self, value: object) -> int:
        return self.running.wait(bool(value))[0]

    def syncthreads_and(self, value: object) -> int:
        votes, voters = self.running.wait(bool(value))
        return int(votes == voters)

    def syncthreads_or(self, value: object) -> int:
        return int(self.running.wait(bool(value))[0] > 0)

    def threadfence(self) -> None:
        self.launch.threads.fence()

    def threadfence_system(self) -> None:
        self.launch.threads.fence()

    def __getattr__(self, name: str) -> Any:
        close = difflib.get_close_matches(name, dir(FakeCUDAModule), n=1)
        if close:
            raise AttributeError(f"cuda has no {name}: did you mean cuda.{close[0]}?")
        raise NotSimulated(f"cuda.{name} does not exist, or needs a GPU")


def _shuffling(name: str) -> Callable[..., Any]:
    def shuffle(self: Cuda, mask: Any, value: Any, by: Any) -> Any:
        return self.running.shuffle(name, mask, value, by)

    return shuffle


for _name in SOURCES:
    setattr(Cuda, _name, _shuffling(_name))


class _Atomic(FakeCUDAAtomic):
    """Atomic operations, which read and write their element as one."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads


def _atomically(operation: Callable[..., Any]) -> Callable[..., Any]:
    def atomic(self: _Atomic, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        self._threads.atomic = (frame.f_code, frame.f_lasti)
        self._threads.atomic_read = False
        try:
            return operation(self, *args, **kwargs)
        finally:
            self._threads.atomic = None

    return atomic


for _name, _operation in vars(FakeCUDAAtomic).items():
    if not _name.startswith("_"):
        setattr(_Atomic, _name, _atomically(_operation))


call_in_errors("cuda", FakeCUDAModule, Cuda)
call_in_errors("cuda.atomic", FakeCUDAAtomic, _Atomic)
call_in_errors("cuda.local", Local)
call_in_errors("cuda.shared", Shared)


class _Groups:
    """Cooperative groups, as `cuda.cg`."""

    def __init__(self, context: Cuda) -> None:
        self._context = context

    def this_grid(self) -> _Groups:
        return self

    def sync(self) -> None:
        if math.prod(self._context.gridDim) > 1:
            raise NotSimulated("a barrier across several blocks needs a GPU")
        self._context.running.wait(False, of_grid=True)
