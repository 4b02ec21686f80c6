"""Triton kernels in a worker: torch tensors that view the arena, interpreted or compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from grader.worker import allocations, compiled
from grader.worker.allocations import Allocations
from grader.worker.compiled import Launches
from grader.worker.guard import AddressGuard, Span
from grader.worker.ledger import Ledger, Watch
from grader.worker.mapping import Views, map_arena, record_event, span_of, tensor_at
from grader.worker.races import runs_backwards


class Simulated:
    """Kernels run in Triton's interpreter; every access is checked before it happens."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._memory = map_arena(ticket, fd)
        start = self._memory.data_ptr()
        self._guard.arena = Span(start, start + self._memory.numel(), "arena")
        self.allocations = Allocations(self._guard.arena)

    def argument(self, ref: Mapping[str, Any]) -> object:
        return tensor_at(self._memory, ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        from grader.worker import triton_sim

        self._guard.allow([span_of(ref, tensor_at(self._memory, ref)) for ref in refs])
        triton_sim.run_programs(runs_backwards(ref["shape"] for ref in refs))

    def watching(self) -> AbstractContextManager[object]:
        return allocations.Watch(self.allocations)

    @contextmanager
    def counting(self, refs: list[Mapping[str, Any]]) -> Iterator[Ledger]:
        tensors = [(ref, tensor_at(self._memory, ref)) for ref in refs]
        ledger = Ledger((span_of(ref, tensor), tensor.element_size()) for ref, tensor in tensors)
        self._guard.observer = ledger.note
        try:
            with Watch(ledger):
                yield ledger
        finally:
            self._guard.observer = None

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()  # programs have no threads to tell of

    def mark(self) -> None:
        """Simulated kernels are not timed."""

    def observing(self) -> AbstractContextManager[Launches]:
        return nullcontext(Launches())  # nothing is compiled

    def without_kernels(self) -> AbstractContextManager[object]:
        from grader.worker import triton_sim

        return triton_sim.undoing()

    def synchronize(self) -> None:
        """Simulated kernels have finished when they return."""

    def settle(self) -> None:
        """A simulator holds no memory of a GPU."""

    def root_cause(self, error: BaseException) -> BaseException:
        from grader.worker import triton_sim

        return triton_sim.root_cause(error)


class Compiled:
    """Kernels are compiled for this GPU."""

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._views = Views(map_arena(ticket, fd), lambda tensor: tensor)
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        return self._views.at(ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Nothing to prepare."""

    def watching(self) -> AbstractContextManager[object]:
        return nullcontext()  # the judge sees from outside what a GPU's memory holds

    def counting(self, refs: list[Mapping[str, Any]]) -> AbstractContextManager[Ledger]:
        return nullcontext(Ledger([]))

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()

    def mark(self) -> torch.cuda.Event:
        return record_event()

    def observing(self) -> AbstractContextManager[Launches]:
        return compiled.triton_launches()

    def without_kernels(self) -> AbstractContextManager[object]:
        return compiled.triton_without_launches()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def settle(self) -> None:
        torch.cuda.empty_cache()

    def root_cause(self, error: BaseException) -> BaseException:
        return error


def maker(device: str) -> Callable[[], Simulated | Compiled]:
    """Import Triton for `device` (cpu or cuda), and say how a worker makes its backend."""
    torch.set_num_threads(1)
    if device == "cuda":
        import triton  # noqa: F401  imported once, before the workers are forked

        return Compiled
    from grader.worker import triton_sim

    guard = AddressGuard()
    triton_sim.install(guard)
    return lambda: Simulated(guard)
