"""Local and shared memory of a simulated kernel, which starts uninitialised."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.numba.simulator.arrays import Array
from grader.backends.numba.simulator.internals import numpy_type
from grader.backends.numba.simulator.launch_limits import check_shared
from grader.backends.numba.simulator.parent_arrays import Whole
from grader.backends.numba.simulator.races import Memory
from grader.backends.numba.simulator.source_text import require_constant_shape
from grader.worker.source_sites import Site

Shape = int | tuple[int, ...]


def uninitialised(array: NDArray[Any]) -> NDArray[Any]:
    """Fill an array with values that stand out when read too early: NaN, or bytes of 0xA5."""
    if array.dtype.kind in "fc":
        array[...] = np.nan
    elif array.dtype.kind == "b":
        array[...] = True
    else:
        array[...] = np.frombuffer(b"\xa5" * array.itemsize, array.dtype)[0]
    return array


def _new_array(shape: Shape, dtype: Any) -> NDArray[Any]:
    return uninitialised(np.empty(shape, _numpy_dtype(dtype)))


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    known: np.dtype[Any] = np.dtype(numpy_type(dtype))
    return known


class Local:
    """The local memory of each thread, as `cuda.local`."""

    def array(self, shape: Shape, dtype: Any, alignment: int | None = None) -> NDArray[Any]:
        caller = sys._getframe(1)
        require_constant_shape((caller.f_code, caller.f_lasti))
        return _new_array(shape, dtype)


class Shared:
    """The shared memory of one block: one array for each call in the kernel's text."""

    def __init__(self, dynamic_bytes: int, memory: Memory) -> None:
        # Of no type yet: as floats of every size, these bytes are NaN.
        self._dynamic = np.full(dynamic_bytes, 0xFF, dtype=np.uint8)
        self._memory = memory
        self._arrays: dict[Site, Array] = {}
        self._bytes = dynamic_bytes  # of shared memory that this block has

    def array(self, shape: Shape, dtype: Any, alignment: int | None = None) -> Array:
        # By the calling instruction: two calls on one line are two arrays.
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
