"""The one module that reaches into numba's CUDA simulator: a deterministic block, and hard limits.

The simulator starts an operating system thread for every CUDA thread, which is slow, and whose
order changes from run to run. Here a CUDA thread is a greenlet, a function that can pause: the
threads of a block run one after the other, each up to its next barrier. What threads do to one
element with nothing to order it is refused (numba_races.py), and every time at the same place.

Importing this module raises CannotGrade when the installed numba-cuda does not fit.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, NoReturn

import numpy as np
from greenlet import getcurrent, greenlet
from numba import cuda
from numba.cuda.core import config
from numba.cuda.np import numpy_support
from numpy.typing import NDArray

from grader.errors import CannotGrade
from grader.worker.adapt import require
from grader.worker.guard import OutOfBounds
from grader.worker.launches import check_launch, check_shared
from grader.worker.numba_arrays import Array, Note
from grader.worker.numba_log import Log
from grader.worker.numba_races import Memory, Paused, Threads
from grader.worker.numba_text import has_return, require_constant_shape
from grader.worker.numba_warps import SOURCES, Exchange, exchanged
from grader.worker.races import DivergentBarrier, Index, called, mirrored
from grader.worker.sites import Place, Site, place_of, quoted
from grader.worker.whole import Whole

if not config.ENABLE_CUDASIM:
    raise CannotGrade(
        "numba was imported without its CUDA simulator",
        next_step="Set NUMBA_ENABLE_CUDASIM=1 before numba is imported.",
    )

# Imported by name, for these modules have no types worth the word: here they are Any.
kernel: Any = importlib.import_module("numba.cuda.simulator.kernel")
kernelapi: Any = importlib.import_module("numba.cuda.simulator.kernelapi")
devicearray: Any = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray")

_VERSIONS = {
    "found": f"numba-cuda {importlib.metadata.version('numba-cuda')}",
    "known": "numba-cuda 0.30",
}

require(
    kernel,
    *("BlockManager", "FakeCUDAModule", "_get_kernel_context", "FakeWithinKernelCUDAArray"),
    *("FakeCUDAKernel", "_kernel_context"),
    **_VERSIONS,
)
require(
    kernelapi,
    *("FakeCUDAModule", "FakeCUDAShared", "FakeCUDALocal", "FakeCUDAAtomic", "Dim3"),
    **_VERSIONS,
)
require(devicearray, "FakeCUDAArray", "device_array", **_VERSIONS)
require(cuda, "device_array", **_VERSIONS)
require(
    kernelapi.FakeCUDAModule,
    *("threadIdx", "blockIdx", "laneid", "cg", "local", "shared", "atomic"),
    *("threadfence", "threadfence_system"),
    *("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or"),
    **_VERSIONS,
)


_NUMPY_INDEX_ERROR = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")
_ORDINALS = ("first", "second", "third", *(f"{number}th" for number in range(4, 65)))  # of axes
_device_array = devicearray.device_array
_WithinKernel = kernel.FakeWithinKernelCUDAArray
_init_array = devicearray.FakeCUDAArray.__init__

Shape = int | tuple[int, ...]


class NotSimulated(Exception):
    """The kernel uses something that exists on a GPU but not in the simulator."""


# --- a block and its threads --------------------------------------------------------------------


class _Index(kernelapi.Dim3):  # type: ignore[misc]  # numba-cuda has no types
    """Where a thread or a block is, told along as many axes as the launch has."""

    def __init__(self, index: Index, extents: Index) -> None:
        super().__init__(*index)
        self._extents = extents

    def __str__(self) -> str:
        return called((self.x, self.y, self.z), self._extents)


# What a greenlet does not inherit from who starts it: a GPU does not stop at Inf and NaN.
_QUIET = copy_context()
_QUIET.run(np.seterr, all="ignore")


class _Thread(greenlet):  # type: ignore[misc]  # greenlet has no types here
    """One CUDA thread. Every switch into it hands over what its barrier or shuffle found out."""

    def __init__(self, call: tuple[Any, ...], index: _Index, number: int, lane: int) -> None:
        super().__init__()
        self.gr_context = _QUIET.copy()
        self.call = call
        self.index = index
        self.number = number
        self.lane = lane
        self.barrier: tuple[Site, ...] = ()  # where it waits, and which calls led there
        self.vote = False  # at a barrier of the block
        self.exchange: Exchange | None = None  # what it brings to the shuffle at which it waits
        self.paused: Paused | None = None

    def run(self, _: object) -> None:
        function, *args = self.call
        if function(*args) is not None:
            raise TypeError(f"the kernel {function.__name__} returns a value, and nobody gets it")

    def waits_with(self, other: _Thread) -> bool:
        return self.barrier == other.barrier or _places(self) == _places(other)

    @property
    def site(self) -> Site:
        return _learners(self)

    def refuse(self, error: Exception) -> None:
        self.throw(error)


class _Block:
    """Runs the threads of one block, one after the other, from barrier to barrier.

    Takes the place of the simulator's BlockManager, and has its interface.
    """

    backwards = False  # whether blocks, and threads of a block, run from the last to the first

    def __init__(self, function: Any, grid_dim: Index, block_dim: Index, debug: bool) -> None:
        self._function = function
        self._grid_dim = grid_dim
        self._block_dim = block_dim

    def run(self, grid_point: Index, *args: object) -> None:
        context: _Cuda = kernel._get_kernel_context()
        if self.backwards:
            grid_point = mirrored(grid_point, self._grid_dim)
        call = (self._function, *args)
        context.enter_block(_Index(grid_point, self._grid_dim), call)
        waiting = [
            _Thread(call, _Index(index, self._block_dim), number, number % context.warpsize)
            for number, index in enumerate(_indices(self._block_dim))
        ]
        if self.backwards:
            waiting.reverse()
        verdict = (0, 0)
        try:
            while waiting:
                votes = context.resume_all(waiting, verdict)
                # A thread that has ended counts as arrived at every barrier, and has no vote: a
                # barrier waits for "all non-exited threads in the block" (CUDA C++ Programming
                # Guide, compute capability 7.x, "Independent Thread Scheduling").
                waiting = [thread for thread in waiting if not thread.dead]
                verdict = (sum(votes), len(waiting))
        finally:
            for thread in waiting:
                thread.throw()


def _must_meet(threads: list[_Thread], block: object) -> None:
    """Raise DivergentBarrier, in a thread that waits, unless all that have not ended wait with it.

    A thread may end early, by `return`. One that ends otherwise has gone past the barrier.
    """
    waiting = [thread for thread in threads if not thread.dead]
    if not waiting:
        return
    first = waiting[0]
    for thread in threads:
        if not thread.dead and not thread.waits_with(first):
            thread.throw(
                DivergentBarrier(
                    f"thread {thread.index} of block {block} waits at the barrier in "
                    f"{quoted(_learners(thread))}, and thread {first.index} at that in "
                    f"{quoted(_learners(first))}: all threads of a block must meet at one"
                )
            )
        if thread.dead and not has_return(thread.call[0].__code__):
            first.throw(
                DivergentBarrier(
                    f"thread {first.index} of block {block} waits at the barrier in "
                    f"{quoted(_learners(first))}, and thread {thread.index} goes past it to the "
                    "end of the kernel: all threads of a block must meet at one"
                )
            )


def _learners(thread: _Thread) -> Site:
    """Where the learner's code has a barrier; that of a grid calls another, in here."""
    return next(site for site in thread.barrier if site[0].co_filename != __file__)


def _places(thread: _Thread) -> list[Place]:
    """Where a thread's barrier and the calls that led there are written."""
    return list(map(place_of, thread.barrier))


def _number(index: Any, extents: Any) -> int:
    """Of a block in its grid: x runs fastest."""
    return int(index.x + extents.x * (index.y + extents.y * index.z))


def _indices(extents: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """All (x, y, z) in the order of a GPU's thread numbers: x runs fastest."""
    for z, y, x in np.ndindex(*reversed(extents)):
        yield x, y, z


class _Cuda(kernelapi.FakeCUDAModule):  # type: ignore[misc]  # numba-cuda has no types
    """What the name `cuda` means inside a kernel."""

    # Plain attributes, set before a thread runs. The simulator asks the operating system's thread.
    threadIdx: Any = None
    blockIdx: Any = None
    laneid = 0

    def __init__(
        self, grid_dim: tuple[int, int, int], block_dim: tuple[int, int, int], dynamic_bytes: int
    ) -> None:
        check_launch(grid_dim, block_dim, dynamic_bytes)
        super().__init__(grid_dim, block_dim, dynamic_bytes)
        self._dynamic_bytes = dynamic_bytes
        self._log = _log
        self._threads = Threads(_log)
        self._begun = False  # whether any block was entered
        self._shuffled = False  # whether a thread came to a shuffle since the last barrier
        self.memory = Memory(self._threads, shared=False)
        self._atomic = _Atomic(self._threads)
        self._local = _Local()
        self._cg = _Groups(self)

    def enter_block(self, index: Any, call: tuple[Any, ...]) -> None:
        self.blockIdx = index
        if self._log is not None:
            if not self._begun:
                self._log_launch(self._log, *call)
                self._begun = True
            self._log.begin_block(_number(index, self.gridDim))
        self._threads.begin_block(index)
        self._shared_memory = Memory(self._threads, shared=True)
        self._shared = _Shared(self._dynamic_bytes, self._shared_memory)
        self._barrier = getcurrent().switch

    def _log_launch(self, log: Log, function: Any, *args: object) -> None:
        names = function.__code__.co_varnames
        arrays = {
            name: arg.whole
            for name, arg in zip(names, args, strict=False)
            if isinstance(arg, Array)
        }
        log.begin_launch(function.__name__, tuple(self.gridDim), tuple(self.blockDim), arrays)

    def resume_all(self, threads: list[_Thread], verdict: tuple[int, int]) -> list[bool]:
        """Let each thread run to its next barrier, or its end. Returns their votes in favour."""
        self._threads.begin_interval()
        if self._log is not None:
            self._log.begin_step()
        every = math.prod(self.blockDim)
        gone = every - len(threads)
        ended = f"{gone} of its {every} threads had ended before" if gone else ""
        try:
            self._run(threads, verdict)
        except Exception as error:  # which a race may well have led to
            self._threads.refuse_race()
            if isinstance(error, OutOfBounds):
                self._shared_memory.refuse_unwritten(ended)  # the index may well come from there
            raise
        _must_meet(threads, self.blockIdx)
        self._threads.refuse_race()
        self._shared_memory.refuse_unwritten(ended)
        return [thread.vote for thread in threads]

    def _run(self, threads: list[_Thread], verdict: tuple[int, int]) -> None:
        self._shuffled = False
        for thread in threads:
            self._resume(thread, verdict)
        if not self._shuffled:
            return
        for _, warp in itertools.groupby(threads, lambda thread: thread.number // self.warpsize):
            lanes = list(warp)
            while going_on := exchanged([thread for thread in lanes if not thread.dead]):
                for thread, value in going_on:
                    self._resume(thread, value)

    def _resume(self, thread: _Thread, handed: Any) -> None:
        """Let a thread run to its next barrier or shuffle, or its end."""
        self._running = thread
        self.threadIdx = thread.index
        self.laneid = thread.lane
        if thread.paused is None:
            self._threads.begin_turn(thread.index)
        else:
            self._threads.resume(thread.paused)
        if self._log is not None:
            self._log.begin_thread(thread.number)
        thread.exchange = thread.paused = None
        try:
            thread.vote = thread.switch(handed) is True
        except IndexError as error:
            self._explain(error)
        if thread.exchange is not None:
            self._shuffled = True
            thread.paused = self._threads.pause()

    def _explain(self, error: IndexError) -> NoReturn:
        found = _NUMPY_INDEX_ERROR.search(str(error))
        if found is None:
            raise error
        index, axis, extent = map(int, found.groups())
        outside, name, axes = self._threads.outside, "an array", axis + 1
        if outside is not None and outside.error is error:
            name, axes = outside.array.named, len(outside.array.shape)
            if self._log is not None:
                self._log.note_outside(
                    outside.array.whole, outside.indices, outside.kind, outside.site
                )
        used = f"index {index} of {name}, which has"
        if axes > 1:
            used = f"{index} as the {_ORDINALS[axis]} index of {name}, where it has"
        elements = "1 element" if extent == 1 else f"{extent} elements"
        raise OutOfBounds(
            f"thread {self.threadIdx} of block {self.blockIdx} uses {used} {elements}: is a bounds "
            "check missing?"
        ).with_traceback(error.__traceback__) from None

    # A barrier switches to the block, with this thread's vote. The block switches back when all
    # threads have arrived, with the number of votes in favour and of voters.

    def _wait(self, vote: bool) -> tuple[int, int]:
        self._running.barrier = _calls()
        verdict: tuple[int, int] = self._barrier(vote)
        return verdict

    def syncthreads(self) -> None:
        self._wait(False)

    def syncthreads_count(self, value: object) -> int:
        return self._wait(bool(value))[0]

    def syncthreads_and(self, value: object) -> int:
        votes, voters = self._wait(bool(value))
        return int(votes == voters)

    def syncthreads_or(self, value: object) -> int:
        return int(self._wait(bool(value))[0] > 0)

    # A shuffle switches to the block, too, which hands over another thread's value.

    def _shuffle(self, name: str, mask: Any, value: Any, by: Any) -> Any:
        thread = self._running
        thread.barrier = _calls()
        thread.exchange = Exchange.of(name, thread, mask, value, by)
        return self._barrier(False)

    def threadfence(self) -> None:
        self._threads.fence()

    def threadfence_system(self) -> None:
        self._threads.fence()

    def __getattr__(self, name: str) -> Any:
        close = difflib.get_close_matches(name, dir(kernelapi.FakeCUDAModule), n=1)
        if close:
            raise AttributeError(f"cuda has no {name}: did you mean cuda.{close[0]}?")
        raise NotSimulated(f"cuda.{name} does not exist, or needs a GPU")


def _shuffling(name: str) -> Callable[..., Any]:
    def shuffle(self: _Cuda, mask: Any, value: Any, by: Any) -> Any:
        return self._shuffle(name, mask, value, by)

    return shuffle


for _name in SOURCES:
    setattr(_Cuda, _name, _shuffling(_name))


def _calls() -> tuple[Site, ...]:
    """Where the running thread is, innermost first."""
    sites = []
    frame = sys._getframe(3)  # what called the barrier or shuffle
    run = _Thread.run.__code__
    while frame.f_code is not run:
        sites.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back  # type: ignore[assignment]  # there always is one below run
    return tuple(sites)


class _Atomic(kernelapi.FakeCUDAAtomic):  # type: ignore[misc]  # numba-cuda has no types
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


for _name, _operation in vars(kernelapi.FakeCUDAAtomic).items():
    if not _name.startswith("_"):
        setattr(_Atomic, _name, _atomically(_operation))


class _Groups:
    """Cooperative groups, as `cuda.cg`."""

    def __init__(self, context: _Cuda) -> None:
        self._context = context

    def this_grid(self) -> _Groups:
        return self

    def sync(self) -> None:
        if math.prod(self._context.gridDim) > 1:
            raise NotSimulated("a barrier across several blocks needs a GPU")
        self._context.syncthreads()


# --- memory that starts out uninitialised -------------------------------------------------------


def _uninitialised(array: NDArray[Any]) -> NDArray[Any]:
    """Fill with what shows when it is read before it is written: NaN, or bytes of 0xA5."""
    if array.dtype.kind in "fc":
        array[...] = np.nan
    elif array.dtype.kind == "b":
        array[...] = True
    else:
        array[...] = np.frombuffer(b"\xa5" * array.itemsize, array.dtype)[0]
    return array


def _new_array(shape: Shape, dtype: Any) -> NDArray[Any]:
    return _uninitialised(np.empty(shape, _numpy_dtype(dtype)))


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """From what learners write: `float32` of numba or numpy, or its name."""
    if isinstance(dtype, kernelapi.types.Type):
        dtype = numpy_support.as_dtype(dtype)
    known: np.dtype[Any] = np.dtype(dtype)
    return known


class _Local(kernelapi.FakeCUDALocal):  # type: ignore[misc]  # numba-cuda has no types
    def array(self, shape: Shape, dtype: Any, alignment: int | None = None) -> NDArray[Any]:
        caller = sys._getframe(1)
        require_constant_shape((caller.f_code, caller.f_lasti))
        return _new_array(shape, dtype)


class _Shared(kernelapi.FakeCUDAShared):  # type: ignore[misc]  # numba-cuda has no types
    """The shared memory of one block: one array for each call in the kernel's text."""

    def __init__(self, dynamic_bytes: int, memory: Memory) -> None:
        super().__init__(dynamic_bytes)
        # Of no type yet: as floats of every size, these bytes are NaN.
        self._dynamic = np.full(dynamic_bytes, 0xFF, dtype=np.uint8)
        self._memory = memory
        self._arrays: dict[Site, Array] = {}
        self._bytes = dynamic_bytes  # of shared memory that this block has

    def array(self, shape: Shape, dtype: Any, alignment: int | None = None) -> Array:
        # The instruction that calls, so that two calls on one line are two arrays.
        caller = sys._getframe(1)
        call = (caller.f_code, caller.f_lasti)
        if shape == 0:  # all of the launch's dynamic shared memory
            whole = _numpy_dtype(dtype)
            fitting = self._dynamic.size // whole.itemsize * whole.itemsize
            return self._watched(self._dynamic[:fitting].view(whole), call, 0)
        if call not in self._arrays:
            require_constant_shape(call)
            array = _new_array(shape, dtype)
            offset = -(-self._bytes // array.itemsize) * array.itemsize
            self._bytes = offset + array.nbytes
            check_shared(self._bytes)
            self._arrays[call] = self._watched(array, call, offset)
        return self._arrays[call]

    def _watched(self, array: NDArray[Any], call: Site, offset: int) -> Array:
        return Array(array, self._memory, Whole.shared(array, call, offset))


def _new_device_array(*args: Any, **kwargs: Any) -> Any:
    made = _device_array(*args, **kwargs)
    _uninitialised(made._ary)
    return made


_launch = kernel.FakeCUDAKernel.__call__


@contextmanager
def undoing() -> Iterator[None]:
    """Meanwhile a launch runs, and may raise, but leaves its arrays as it found them."""
    kernel.FakeCUDAKernel.__call__ = _launch_and_undo
    try:
        yield
    finally:
        kernel.FakeCUDAKernel.__call__ = _launch


def _launch_and_undo(self: Any, *args: Any) -> None:
    if kernel._kernel_context is not None:  # not a launch: one kernel's code calls another's
        _launch(self, *args)
        return
    memory = [getattr(arg, "value", getattr(arg, "_ary", arg)) for arg in args]
    kept = [(array, array.copy()) for array in memory if isinstance(array, np.ndarray)]
    try:
        _launch(self, *args)
    finally:
        for array, held in kept:
            np.copyto(array, held)


_watcher: Callable[[NDArray[Any]], None] | None = None


def _init_watched_array(self: Any, ary: Any, stream: int = 0) -> None:
    """Device arrays, and all views of them, are made here."""
    _init_array(self, ary, stream)
    if _watcher is not None and isinstance(ary, np.ndarray):
        _watcher(ary)


@contextmanager
def watching(watcher: Callable[[NDArray[Any]], None]) -> Iterator[None]:
    """Tell `watcher` the memory of every device array that is made meanwhile."""
    global _watcher
    _watcher = watcher
    try:
        yield
    finally:
        _watcher = None


_log: Log | None = None


@contextmanager
def logging() -> Iterator[Log]:
    """Take down every access of launches meanwhile, also of one that fails."""
    global _log
    _log = Log()
    try:
        yield _log
    finally:
        _log = None


# --- what the worker calls ------------------------------------------------------------------------


def install() -> None:
    """Make the numba CUDA kernels of this process run thread by thread, with a GPU's limits.

    Call it once, in a process that set NUMBA_ENABLE_CUDASIM=1 before importing numba.
    """
    kernel.BlockManager = _Block
    kernel.FakeCUDAModule = _Cuda
    kernel.FakeWithinKernelCUDAArray = _as_kernels_see_it
    devicearray.device_array = _new_device_array
    devicearray.FakeCUDAArray.__init__ = _init_watched_array
    cuda.device_array = _new_device_array


class _Observed(devicearray.FakeCUDAArray):  # type: ignore[misc]  # numba-cuda has no types
    """A device array that tells how many bytes are read or written.

    A part of it, or the same memory in another shape, tells what is done with it by itself.
    """

    def __init__(self, array: NDArray[Any], note: Note, whole: Whole, stream: int = 0) -> None:
        super().__init__(array, stream)
        self._note = note
        self._whole = whole

    def _again(self, array: NDArray[Any]) -> _Observed:
        return _Observed(array, self._note, self._whole, self.stream)

    def in_kernel(self, memory: Memory) -> Array:
        return Array(self._ary, memory, self._whole, self._note)

    def __getitem__(self, index: Any) -> Any:
        found = self._ary[index]
        if type(found) is np.ndarray:
            return self._again(found)
        self._note(found.nbytes, "load")
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._note(self._ary[index].nbytes, "store")
        self._ary[index] = value

    def bind(self, stream: Any = 0) -> Any:
        return self

    def transpose(self, axes: Any = None) -> Any:
        return self._again(self._ary.transpose(axes))

    def squeeze(self, axis: Any = None) -> Any:
        return self._again(self._ary.squeeze(axis))

    def ravel(self, *args: Any, **kwargs: Any) -> Any:
        return self._again(self._ary.ravel(*args, **kwargs))

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        return self._again(self._ary.reshape(*args, **kwargs))

    def view(self, *args: Any, **kwargs: Any) -> Any:
        return self._again(self._ary.view(*args, **kwargs))

    def split(self, section: int, stream: Any = 0) -> Any:
        return [self[start : start + section] for start in range(0, len(self), section)]

    def copy_to_host(self, *args: Any, **kwargs: Any) -> Any:
        self._note(self._ary.nbytes, "load")
        return super().copy_to_host(*args, **kwargs)

    def copy_to_device(self, *args: Any, **kwargs: Any) -> Any:
        self._note(self._ary.nbytes, "store")
        return super().copy_to_device(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What else numpy's array has: `sum`, `__array__` and the like look at every element."""
        found = getattr(self._ary, name)
        if callable(found) or name.startswith("__array"):
            self._note(self._ary.nbytes, "load")
        return found


def _as_kernels_see_it(item: Any) -> Any:
    """What a launch makes of a device array that it gets."""
    if item.dtype.names is not None:
        return _WithinKernel(item)  # of records: numba-cuda's own, which is not looked at
    memory = kernel._get_kernel_context().memory
    if isinstance(item, _Observed):
        return item.in_kernel(memory)
    return Array(item._ary, memory, Whole.scratch(item._ary))


def run_blocks(backwards: bool) -> None:
    """In which order the blocks of launches, and their threads, run from now on."""
    _Block.backwards = backwards


def device_array(array: NDArray[Any], note: Note, name: str) -> Any:
    """A device array over the same memory: what an entry receives in place of one on a GPU.

    Has `shape`, `size`, `dtype`, `copy_to_host()` and the rest of a device array, and is what
    simulated kernels take. `note` is told of every access; errors call the array `name`.
    """
    return _Observed(array, note, Whole.of(array, name))
