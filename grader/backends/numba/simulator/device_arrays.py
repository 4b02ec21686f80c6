"""Device arrays in a kernel file outside of kernels, and their conversion at a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.numba.simulator.arrays import Array, Note
from grader.backends.numba.simulator.internals import (
    ArgHint,
    FakeCUDAArray,
    InOut,
    make_device_array,
)
from grader.backends.numba.simulator.memory import uninitialised
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.backends.numba.simulator.parent_arrays import Whole
from grader.backends.numba.simulator.races import Memory
from grader.backends.numba.simulator.running import running
from grader.worker.bounds import Access

_init = FakeCUDAArray.__init__
_get = FakeCUDAArray.__getitem__
_set = FakeCUDAArray.__setitem__


# Return what takes the accesses of a call that is counted, else None.
Noting = Callable[[], Note | None]


def device_array(array: NDArray[Any], noting: Noting, name: str) -> Any:
    """Make a device array over the same memory, for the entry in place of one on a GPU.

    It has `shape`, `size`, `dtype`, `copy_to_host()` and the rest of a device array, and simulated
    kernels take it. `noting` is asked at each access outside of kernels, and at each launch. Errors
    call the array `name`.
    """
    return _Observed(array, noting, Whole.of(array, name))


class _Observed(FakeCUDAArray):
    """A device array that reports the bytes that are read or written.

    A part of it, or the same memory in another shape, reports its own accesses.
    """

    def __init__(self, array: NDArray[Any], noting: Noting, whole: Whole, stream: int = 0) -> None:
        super().__init__(array, stream)
        self._noting = noting
        self._whole = whole

    def _note(self, size: int, what: Access) -> None:
        note = self._noting()
        if note is not None:
            note(size, what)

    def _again(self, array: NDArray[Any]) -> _Observed:
        return _Observed(array, self._noting, self._whole, self.stream)

    def in_kernel(self, memory: Memory) -> Array:
        return Array(self._ary, memory, self._whole, self._noting())

    def __getitem__(self, index: Any) -> Any:
        if running() is not None:
            raise _from_outside(self._whole)
        part = self._ary[index]
        if type(part) is np.ndarray:
            return self._again(part)
        self._note(part.nbytes, "load")
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        if running() is not None:
            raise _from_outside(self._whole)
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
        """Return another attribute of numpy's array: `sum` or `__array__` reads every element."""
        attribute = getattr(self._ary, name)
        if callable(attribute) or name.startswith("__array"):
            self._note(self._ary.nbytes, "load")
        return attribute


def as_kernels_see_it(item: Any) -> Any:
    memory = running().launch.memory
    if isinstance(item, _Observed):
        return item.in_kernel(memory)
    return Array(item._ary, memory, Whole.scratch(item._ary))


def _of_tuple(parts: tuple[Any, ...], retr: list[Any]) -> tuple[Any, ...]:
    converted = [of_part(part, retr) for part in parts]
    return type(parts)(*converted) if hasattr(parts, "_fields") else tuple(converted)


def of_part(part: Any, retr: list[Any]) -> Any:
    """Convert an argument; `retr` collects the work at the launch's end: copies to the host."""
    if isinstance(part, tuple):
        return _of_tuple(part, retr)
    if isinstance(part, np.ndarray) and part.ndim > 0:
        part = InOut(part)
    if isinstance(part, np.void):  # a record
        part = FakeCUDAArray(part)
    if isinstance(part, ArgHint):
        part = part.to_device(retr)
    return as_kernels_see_it(part) if isinstance(part, FakeCUDAArray) else part


def memory_of(argument: Any) -> Iterator[NDArray[Any]]:
    """Yield the memory that a launch may write to by this argument."""
    if isinstance(argument, tuple):
        for part in argument:
            yield from memory_of(part)
    elif isinstance(argument, ArgHint):
        yield from memory_of(argument.value)
    elif isinstance(argument, FakeCUDAArray):
        yield argument._ary
    elif isinstance(argument, np.ndarray):
        yield argument


def element(self: Any, index: Any) -> Any:
    """Read from a device array that no launch has converted."""
    if running() is not None:
        raise _from_outside(Whole.scratch(self._ary))
    return _get(self, index)


def set_element(self: Any, index: Any, value: Any) -> None:
    if running() is not None:
        raise _from_outside(Whole.scratch(self._ary))
    _set(self, index, value)


def _from_outside(whole: Whole) -> NotSimulated:
    return NotSimulated(
        f"the kernel uses {whole.name} from outside (a closure, a global name or a list), and the "
        "simulator follows only a kernel's arguments, and tuples of them: pass it as an argument"
    )


def new_device_array(*args: Any, **kwargs: Any) -> Any:
    """Replace `cuda.device_array`: the memory starts uninitialised."""
    made = make_device_array(*args, **kwargs)
    uninitialised(made._ary)
    return made


@contextmanager
def watching(watcher: Callable[[NDArray[Any]], None]) -> Iterator[None]:
    """Report the memory of every device array that is made meanwhile to `watcher`."""

    def init(self: Any, ary: Any, stream: int = 0) -> None:
        _init(self, ary, stream)
        if isinstance(ary, np.ndarray):
            watcher(ary)

    FakeCUDAArray.__init__ = init  # it makes all device arrays, and all views of them
    try:
        yield
    finally:
        FakeCUDAArray.__init__ = _init
