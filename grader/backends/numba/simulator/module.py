"""The name `cuda` inside a kernel: indices, barriers, warps, atomics, groups, memory."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numba import cuda as numba_cuda

from grader.backends.numba.simulator import bits, vectors
from grader.backends.numba.simulator.arrays import Array
from grader.backends.numba.simulator.atomics import Atomic
from grader.backends.numba.simulator.internals import Type, call_in_errors
from grader.backends.numba.simulator.launch import Launch
from grader.backends.numba.simulator.launch_limits import check_launch
from grader.backends.numba.simulator.libdevice import LIBDEVICE
from grader.backends.numba.simulator.memory import Local, Shared
from grader.backends.numba.simulator.names import Names
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.backends.numba.simulator.parent_arrays import Whole
from grader.backends.numba.simulator.thread import Index, Thread
from grader.backends.numba.simulator.warps import EVERY_LANE, LANES, SOURCES
from grader.worker import races


class Cuda:
    """The `cuda` of one launch; the block sets the thread for which it acts."""

    running: Thread
    warpsize = LANES
    libdevice = LIBDEVICE
    threadIdx: Any = None
    laneid = 0
    blockIdx: Any = None
    shared: Any = None

    def __init__(self, grid: races.Index, block: races.Index, dynamic_bytes: int) -> None:
        check_launch(grid, block, dynamic_bytes)
        self.gridDim, self.blockDim = Index(grid, grid), Index(block, block)
        self.launch = Launch(grid, block, dynamic_bytes)
        self.atomic = Atomic(self.launch.threads)
        self.local, self.const = Local(), _Const(self.launch)
        self.cg = _Groups(self)
        self.names = Names(self, NAMES)

    def enter_block(self, index: Any, shared: Shared) -> None:
        self.blockIdx = index
        self.shared = shared

    def grid(self, ndim: int) -> Any:
        at, of, block = self.threadIdx, self.blockDim, self.blockIdx
        x = at.x + of.x * block.x
        return x if ndim == 1 else (x, at.y + of.y * block.y, at.z + of.z * block.z)[: _axes(ndim)]

    def gridsize(self, ndim: int) -> Any:
        of, blocks = self.blockDim, self.gridDim
        x = of.x * blocks.x
        return x if ndim == 1 else (x, of.y * blocks.y, of.z * blocks.z)[: _axes(ndim)]

    # -- barriers and fences

    def syncthreads(self) -> None:
        self.running.wait(False)

    def syncthreads_count(self, predicate: object) -> int:
        return self.running.wait(bool(predicate))[0]

    def syncthreads_and(self, predicate: object) -> int:
        votes, voters = self.running.wait(bool(predicate))
        return int(votes == voters)

    def syncthreads_or(self, predicate: object) -> int:
        return int(self.running.wait(bool(predicate))[0] > 0)

    def threadfence(self) -> None:
        self.launch.threads.fence()

    def threadfence_system(self) -> None:
        self.launch.threads.fence()

    def threadfence_block(self) -> None:
        self.launch.threads.fence_in_block()

    def nanosleep(self, ns: int) -> None:
        """Do nothing: simulated threads have no time."""

    # -- a warp's threads; the shuffles and votes are set below

    def syncwarp(self, mask: Any = EVERY_LANE) -> None:
        self.running.meet("syncwarp", mask, None)

    def activemask(self) -> Any:
        return self.running.meet("activemask", None, None)

    def lanemask_lt(self) -> int:
        return (1 << self.laneid) - 1

    # -- arithmetic

    popc = staticmethod(bits.popc)
    ffs = staticmethod(bits.ffs)
    clz = staticmethod(bits.clz)
    brev = staticmethod(bits.brev)
    fma = staticmethod(bits.fma)

    def cbrt(self, a: Any) -> Any:
        return np.cbrt(a)

    def selp(self, a: Any, b: Any, c: Any) -> Any:
        return b if a else c


def unknown(name: str) -> str:
    """Return the message for a name that cuda lacks."""
    close = difflib.get_close_matches(name, [*NAMES, *vectors.TYPES], n=1)
    meant = f": did you mean cuda.{close[0]}?" if close else ""
    return f"cuda has no {name}{meant}"


def _axes(ndim: Any) -> int:
    if ndim not in (2, 3):
        raise ValueError(f"the number of axes is 1, 2 or 3, not {ndim}")
    return int(ndim)


def _shuffling(name: str) -> Callable[..., Any]:
    def shuffle(self: Cuda, mask: Any, value: Any, by: Any) -> Any:
        return self.running.meet(name, mask, value, by)

    return shuffle


def _voting(name: str) -> Callable[..., Any]:
    def vote(self: Cuda, mask: Any, value: Any) -> Any:
        return self.running.meet(name, mask, value)

    return vote


def _load(self: Cuda, array: Array, i: Any) -> Any:
    """Read an element with a hint to the caches, which the simulator lacks."""
    frame = sys._getframe(1)
    return array.at(i, (frame.f_code, frame.f_lasti))


def _store(self: Cuda, array: Array, i: Any, value: Any) -> None:
    """Write an element with a hint to the caches, which the simulator lacks."""
    frame = sys._getframe(1)
    array.put(i, value, (frame.f_code, frame.f_lasti))


for _name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"):
    setattr(Cuda, _name, _load)
for _name in ("stcg", "stcs", "stwb", "stwt"):
    setattr(Cuda, _name, _store)
for _name in SOURCES:
    setattr(Cuda, _name, _shuffling(_name))
for _name in ("all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync"):
    setattr(Cuda, _name, _voting(_name))


class _Const:
    """Constant memory, as `cuda.const`."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def array_like(self, ary: Any) -> Array:
        array = np.asarray(ary)
        return Array(array, self._launch.memory, Whole.constant(array))


class _Groups:
    """Cooperative groups, as `cuda.cg`."""

    def __init__(self, context: Cuda) -> None:
        self._context = context

    def this_grid(self) -> _Groups:
        return self

    def sync(self) -> None:
        self._context.running.wait(False, of_grid=True)


# The names of `cuda` that a kernel may use: those above, without the grader's own.
NAMES = tuple(
    name
    for name in (*vars(Cuda), "gridDim", "blockDim", "shared", "local", "const", "atomic", "cg")
    if not name.startswith("_") and name not in ("enter_block", "names")
)


def _refuse(name: str, cuda: Cuda) -> NoReturn:
    raise NotSimulated(f"cuda.{name} is not simulated")


# numba's other names. With __getattr__, which would find them too, all attributes would be slow.
for _name, _value in {**vars(numba_cuda), **vectors.TYPES}.items():
    if isinstance(_value, Type) or _name in vectors.TYPES:
        setattr(Cuda, _name, _value)
    elif not _name.startswith("__") and _name not in NAMES:
        setattr(Cuda, _name, property(partial(_refuse, _name)))
call_in_errors("cuda", Cuda)
call_in_errors("cuda.atomic", Atomic)
call_in_errors("cuda.local", Local)
call_in_errors("cuda.shared", Shared)
