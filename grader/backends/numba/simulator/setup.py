"""The simulation of this process's numba CUDA kernels: its order, its log, its undoing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.block import Block
from grader.backends.numba.simulator.device_arrays import (
    Tuples,
    as_kernels_see_it,
    element,
    memory_of,
    new_device_array,
    set_element,
)
from grader.backends.numba.simulator.internals import (
    FakeCUDAArray,
    FakeCUDAKernel,
    launched,
    put_in_place,
)
from grader.backends.numba.simulator.launch import Launch
from grader.backends.numba.simulator.module import Cuda
from grader.worker.launches import Withheld, replaced

_launch = FakeCUDAKernel.__call__
_configure = FakeCUDAKernel.__getitem__


def install() -> None:
    """Make the numba CUDA kernels of this process run thread by thread, with a GPU's limits.

    Call it once, in a process that set NUMBA_ENABLE_CUDASIM=1 before importing numba.
    """
    put_in_place(Block, Cuda, as_kernels_see_it, new_device_array)
    FakeCUDAArray.__getitem__, FakeCUDAArray.__setitem__ = element, set_element
    FakeCUDAKernel.__getitem__ = _configured


def _configured(self: Any, configuration: Any) -> Any:
    """Make a separate launch configuration, as on a GPU. The simulator's is the kernel itself."""
    made = copy.copy(self)
    made.extensions = [*self.extensions, Tuples]
    return _configure(made, configuration)


def run_blocks(backwards: bool) -> None:
    """Set the order in which blocks, and their threads, run from now on."""
    Block.backwards = backwards


@contextmanager
def logging() -> Iterator[Log]:
    """Record every access of launches meanwhile, even of one that fails."""
    Launch.log = log = Log()
    try:
        yield log
    finally:
        Launch.log = None


@contextmanager
def undoing() -> Iterator[Withheld]:
    """Run launches, which may raise, but restore their arrays afterwards."""
    withheld = Withheld()

    def launch_and_undo(self: Any, *args: Any) -> Any:
        if launched() is not None:  # not a launch: a kernel calls a device function
            return _launch(self, *args)
        with withheld.own_part():
            copies = [(array, array.copy()) for array in memory_of(args)]
        try:
            _launch(self, *args)
        finally:
            with withheld.own_part():
                for array, copy_before in copies:
                    np.copyto(array, copy_before)
        withheld.launch()
        return None

    with replaced(FakeCUDAKernel, "__call__", launch_and_undo):
        yield withheld
