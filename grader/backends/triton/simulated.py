"""Triton kernels in a worker without a GPU: interpreted, on torch tensors that view the arena."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from grader.backends.triton.simulator import launch, setup, unwrap
from grader.worker import refusals
from grader.worker.allocations import Allocations
from grader.worker.arena_mapping import map_arena, span_of, tensor_at
from grader.worker.bounds import AddressGuard, Span
from grader.worker.device_link import DeviceLink
from grader.worker.launches import Withheld
from grader.worker.races import runs_backwards
from grader.worker.torch_operations import Allocating, Moving
from grader.worker.traffic_counter import Ledger


class Simulated:
    """Kernels run in Triton's interpreter; every access is checked before it happens."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._memory = map_arena(ticket, fd)
        start = self._memory.data_ptr()
        self._guard.arena = Span(start, start + self._memory.numel(), "arena")
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        return tensor_at(self._memory, ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        refusals.begin()
        self._guard.allow([span_of(ref, tensor_at(self._memory, ref)) for ref in refs])
        setup.run_programs(runs_backwards(ref["shape"] for ref in refs))

    @contextmanager
    def watching(self) -> Iterator[None]:
        assert self._guard.arena is not None
        allocating = Allocating(self.allocations, self._guard.arena)
        with allocating, launch.watching(allocating.see):
            yield

    @contextmanager
    def counting(self, refs: list[Mapping[str, Any]]) -> Iterator[Ledger]:
        tensors = [(ref, tensor_at(self._memory, ref)) for ref in refs]
        ledger = Ledger((span_of(ref, tensor), tensor.element_size()) for ref, tensor in tensors)
        self._guard.observer = ledger.note
        try:
            with Moving(ledger):
                yield ledger
        finally:
            self._guard.observer = None

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()  # programs have no threads to log

    def mark(self) -> None:
        """Do nothing: simulated kernels are not timed."""

    def observing(self) -> AbstractContextManager[None]:
        return nullcontext()  # nothing is compiled

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        return launch.undoing()

    def synchronize(self) -> None:
        """Raise a refusal of the simulator that the file caught; nothing is left to wait for."""
        refusals.settle()

    def settle(self) -> None:
        """Do nothing: a simulator holds no memory of a GPU."""

    def root_cause(self, error: BaseException) -> BaseException:
        return unwrap.root_cause(error)


def install() -> Callable[[DeviceLink | None], Simulated]:
    """Prepare this process before workers are forked; return a factory of backends for them."""
    torch.set_num_threads(1)
    guard = AddressGuard()
    setup.install(guard)
    return lambda link: Simulated(guard)
