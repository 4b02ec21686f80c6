"""A worker's handling of arena and time on a GPU, the same for all backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from cuda.bindings import driver

from grader.model import Specialisation
from grader.worker.allocations import Allocations
from grader.worker.arena_mapping import Views, map_arena
from grader.worker.recorder import Recorder
from grader.worker.traffic_counter import Ledger


def cuda_started() -> bool:
    """Report whether this process has started CUDA, which no process forked from it survives."""
    try:
        error, _ = driver.cuDeviceGetCount()
    except RuntimeError:  # there is no driver
        return False
    return bool(error != driver.CUresult.CUDA_ERROR_NOT_INITIALIZED)


class OnGpu:
    """Kernels are compiled for this GPU. A second worker, in simulation, counts.

    `wrap` turns a tensor in the arena into the entry's argument.
    """

    def __init__(self, wrap: Callable[[torch.Tensor], object]) -> None:
        self._wrap = wrap

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        memory = map_arena(ticket, fd)
        self._arena = range(memory.data_ptr(), memory.data_ptr() + memory.nbytes)
        self._views = Views(memory, self._wrap)
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        return self._views.at(ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Nothing to prepare."""

    def in_other_order(self) -> AbstractContextManager[None]:
        return nullcontext()  # a GPU chooses the order of blocks itself

    def watching(self) -> AbstractContextManager[object]:
        return nullcontext()  # the judge sees from outside what a GPU's memory holds

    def counting(self, refs: list[Mapping[str, Any]]) -> AbstractContextManager[Ledger]:
        return nullcontext(Ledger([]))

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()

    def recording(self) -> AbstractContextManager[Recorder]:
        recorder = Recorder(self._arena)
        recorder.refuse("its language records no launches")
        return nullcontext(recorder)

    def mark(self) -> torch.cuda.Event:
        """Mark a point in time on the stream that kernels are launched on by default."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def launched(self) -> tuple[Specialisation, ...]:
        return ()  # the judge asks in simulation

    def root_cause(self, error: BaseException) -> BaseException:
        return error
