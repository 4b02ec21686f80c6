"""Arrays as the threads of a numba kernel see them: each access is counted and checked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.numba.simulator.access_log import Kind
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.backends.numba.simulator.parent_arrays import Whole, address_of
from grader.backends.numba.simulator.races import Memory, Outside
from grader.worker.bounds import Access
from grader.worker.source_sites import Site

Note = Callable[[int, Access], None]


class Array:
    """An array as kernels see it: every access to an element is counted and checked.

    Parts of it, and the same memory in another shape or dtype, are arrays like it.
    """

    def __init__(
        self, array: NDArray[Any], memory: Memory, whole: Whole, note: Note | None = None
    ) -> None:
        if array.dtype.names is not None:
            raise NotSimulated(
                f"{whole.name} holds records, whose fields the simulator does not follow: use one "
                "array for each field"
            )
        self._array = array
        self._memory = memory
        self._whole = whole
        self._note = note
        self._start = address_of(array)
        self._strides = array.strides
        # What each access needs, in one attribute, because __getattr__ makes all of them slow. The
        # last two are for the only axis: the distance between elements, and their number.
        axis = (array.strides[0], array.size) if array.ndim == 1 else (0, 0)
        self._access = array, memory, note, array.itemsize, self._start, *axis
        # Plain attributes, because kernels read them all the time.
        self.shape = array.shape
        self.size = array.size
        self.itemsize = array.itemsize
        memory.fit(array.itemsize)

    @property
    def whole(self) -> Whole:
        return self._whole

    @property
    def named(self) -> str:
        """The array's name, `x`, or `a part of x` for a view of another shape."""
        name = self._whole.name
        return name if self.shape == self._whole.shape else f"a part of {name}"

    def element(self, address: int) -> str:
        named = self._whole.element(address)
        threads = self._memory.threads
        if not threads.came_from_end(address):
            return named
        return f"{named} (by the index {threads.from_end[2]}, which counts from the end)"

    def _again(self, array: NDArray[Any]) -> Array:
        return Array(array, self._memory, self._whole, self._note)

    def _address(self, index: Any) -> int:
        """Return the address of an element; a negative index counts from the end."""
        if type(index) is tuple and len(index) == 2:  # a faster path for the usual case
            row, column = index
            if type(row) is int and type(column) is int and row >= 0 and column >= 0:
                down, across = self._strides
                return self._start + row * down + column * across
        if not isinstance(index, tuple):
            index = (index,)
        address, negative = self._start, 0
        for at, extent, stride in zip(index, self.shape, self._strides, strict=True):
            if at < 0:
                negative = int(at)
            address += (int(at) if at >= 0 else int(at) + extent) * stride
        if negative:
            threads = self._memory.threads
            threads.from_end = threads.turn, address, negative
        return address

    def __getitem__(self, index: Any) -> Any:
        frame = sys._getframe(1)
        return self.at(index, (frame.f_code, frame.f_lasti))

    def __setitem__(self, index: Any, value: Any) -> None:
        frame = sys._getframe(1)
        self.put(index, value, (frame.f_code, frame.f_lasti))

    def holds(self, index: Any, value: Any) -> bool:
        """Report whether a write of this value leaves the element's bits as they are."""
        held: bytes = self._array[index].tobytes()
        return held == np.asarray(value).astype(self._array.dtype).tobytes()

    def _all(self, site: Site) -> NDArray[Any]:
        for position in np.ndindex(self._array.shape):
            if self._note is not None:
                self._note(self.itemsize, "load")
            self._memory.load(self, self._address(position), self.itemsize, site)
        return self._array.copy()

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Elements:
        return Elements(self)

    def at(self, index: Any, site: Site) -> Any:
        """Return an element, or a row of a table, to this place of the text."""
        array, memory, note, size, start, stride, extent = self._access
        if type(index) is int and 0 <= index < extent:
            element, address = array[index], start + index * stride
        else:
            element = self._inside(index, "read", site)
            if isinstance(element, np.ndarray):
                return self._again(element)
            address = self._address(index)
        if note is not None:
            note(size, "load")
        memory.load(self, address, size, site)
        return element

    def put(self, index: Any, value: Any, site: Site) -> None:
        """Write an element, or all of a part, from this place of the text."""
        array, memory, note, size, start, stride, extent = self._access
        if type(index) is int and 0 <= index < extent:
            address = start + index * stride
        else:
            target = self._inside(index, "write", site)
            if isinstance(target, np.ndarray):
                self._again(target)._fill(value, site)
                return
            address = self._address(index)
        if note is not None:
            note(size, "store")
        memory.store(self, address, size, site, index, value)
        array[index] = value

    def _inside(self, index: Any, kind: Kind, site: Site) -> Any:
        try:
            return self._array[index]
        except IndexError as error:
            threads = self._memory.threads
            if threads.atomic is not None:
                kind, site = "update", threads.atomic
            threads.outside = Outside(error, self, index, kind, site)
            raise

    def _fill(self, value: Any, site: Site) -> None:
        if isinstance(value, Array):
            value = value._all(site)
        for position, each in np.ndenumerate(np.broadcast_to(value, self.shape)):
            self.put(position, each, site)

    @property
    def T(self) -> Array:
        return self._again(self._array.T)

    def transpose(self, *axes: Any) -> Array:
        return self._again(self._array.transpose(*axes))

    def ravel(self, *args: Any, **kwargs: Any) -> Array:
        return self._again(self._array.ravel(*args, **kwargs))

    def reshape(self, *args: Any, **kwargs: Any) -> Array:
        return self._again(self._array.reshape(*args, **kwargs))

    def view(self, *args: Any, **kwargs: Any) -> Array:
        return self._again(self._array.view(*args, **kwargs))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            raise _only_elements(f"np.{ufunc.__name__}.{method}")
        site = (sys._getframe(1).f_code, sys._getframe(1).f_lasti)
        plain = (arg._all(site) if isinstance(arg, Array) else arg for arg in args)
        return getattr(ufunc, method)(*plain, **kwargs)

    def _reduced(self, name: str, site: Site, **options: Any) -> Any:
        """Let the running thread alone read all elements, as the loop that numba compiles does."""
        if options:  # numpy passes some
            raise TypeError(f"the {name} of a whole array cannot be simulated")
        return getattr(self._all(site), name)()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that arrays have on a GPU: not their memory."""
        if name in _KNOWN:
            return getattr(self._array, name)
        if name in _REDUCTIONS:
            frame = sys._getframe(1)
            return partial(self._reduced, name, (frame.f_code, frame.f_lasti))
        if name.startswith("__array"):  # numpy looks for these
            raise _only_elements("this function of numpy's")
        if hasattr(self._array, name):
            raise _only_elements(f".{name}")
        raise AttributeError(f"an array has no {name}")


class Elements:
    """A loop over an array: each turn reads an element."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._index = -1

    def __iter__(self) -> Elements:
        return self

    def __next__(self) -> Any:
        self._index += 1
        if self._index >= len(self._array):
            raise StopIteration
        frame = sys._getframe(1)
        return self._array.at(self._index, (frame.f_code, frame.f_lasti))


_KNOWN = ("dtype", "nbytes", "ndim", "strides")
_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")


def _only_elements(what: str) -> TypeError:
    return TypeError(
        f"{what} cannot be used on an array in a kernel: a GPU's threads read and write elements"
    )
