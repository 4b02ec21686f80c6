"""The simulation of this process's numba CUDA kernels: its order, its log, its undoing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.block import Block
from grader.backends.numba.simulator.compiler import compile_kernel
from grader.backends.numba.simulator.device import Context, Event
from grader.backends.numba.simulator.device_arrays import (
    element,
    memory_of,
    new_device_array,
    set_element,
)
from grader.backends.numba.simulator.internals import FakeCUDAArray, Kernel, put_in_place
from grader.backends.numba.simulator.kernel_calls import call, call_inside
from grader.backends.numba.simulator.launch import Launch
from grader.worker.launches import Withheld, replaced


def install() -> None:
    """Make the numba CUDA kernels of this process run thread by thread, with a GPU's limits."""
    put_in_place(call, call_inside, compile_kernel, Context(), Event, new_device_array)
    FakeCUDAArray.__getitem__, FakeCUDAArray.__setitem__ = element, set_element


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

    def launch_and_undo(kernel: Any, args: tuple[Any, ...], configuration: Any) -> None:
        with withheld.own_part():
            copies = [(array, array.copy()) for array in memory_of(args)]
        try:
            call(kernel, args, configuration)
        finally:
            with withheld.own_part():
                for array, copy_before in copies:
                    np.copyto(array, copy_before)
        withheld.launch()

    with replaced(Kernel, "call", launch_and_undo):
        yield withheld
