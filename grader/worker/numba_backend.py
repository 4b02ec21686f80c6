"""numba CUDA kernels in a worker: device arrays that view the arena, simulated or compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch

from grader.worker import compiled
from grader.worker.allocations import Allocations
from grader.worker.compiled import Launches
from grader.worker.guard import Access
from grader.worker.ledger import Ledger
from grader.worker.mapping import Views, map_arena, record_event, span_of, tensor_at
from grader.worker.numba_log import Log
from grader.worker.races import runs_backwards


class Simulated:
    """Kernels run in numba's CUDA simulator."""

    def __init__(self) -> None:
        self._ledger: Ledger | None = None

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._memory = map_arena(ticket, fd)
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        from grader.worker import numba_sim

        array = tensor_at(self._memory, ref).numpy()
        return numba_sim.device_array(array, partial(self._note, ref["name"]), ref["name"])

    def _note(self, name: str, size: int, what: Access) -> None:
        if self._ledger is not None:
            self._ledger.add(name, size, what)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """The simulator checks every index against its array itself."""
        from grader.worker import numba_sim

        numba_sim.run_blocks(runs_backwards(ref["shape"] for ref in refs))

    def watching(self) -> AbstractContextManager[object]:
        from grader.worker import numba_sim

        return numba_sim.watching(self.allocations.see_array)

    @contextmanager
    def counting(self, refs: list[Mapping[str, Any]]) -> Iterator[Ledger]:
        tensors = [(ref, tensor_at(self._memory, ref)) for ref in refs]
        self._ledger = Ledger(
            (span_of(ref, tensor), tensor.element_size()) for ref, tensor in tensors
        )
        try:
            yield self._ledger
        finally:
            self._ledger = None

    def logging(self) -> AbstractContextManager[Log]:
        from grader.worker import numba_sim

        return numba_sim.logging()

    def mark(self) -> None:
        """Simulated kernels are not timed."""

    def observing(self) -> AbstractContextManager[Launches]:
        return nullcontext(Launches())  # nothing is compiled

    def without_kernels(self) -> AbstractContextManager[object]:
        from grader.worker import numba_sim

        return numba_sim.undoing()

    def synchronize(self) -> None:
        """Simulated kernels have finished when they return."""

    def settle(self) -> None:
        """A simulator holds no memory of a GPU."""

    def root_cause(self, error: BaseException) -> BaseException:
        return error


class Compiled:
    """Kernels are compiled for this GPU."""

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        from numba import cuda

        self._views = Views(map_arena(ticket, fd), cuda.as_cuda_array)
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
        return compiled.numba_launches()

    def without_kernels(self) -> AbstractContextManager[object]:
        return compiled.numba_without_launches()

    def synchronize(self) -> None:
        from numba import cuda

        cuda.synchronize()  # type: ignore[no-untyped-call]

    def settle(self) -> None:
        """Numba puts off freeing what nobody needs; a file may use torch, too."""
        from numba import cuda

        cuda.current_context().memory_manager.deallocations.clear()  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()

    def root_cause(self, error: BaseException) -> BaseException:
        return error


def maker(device: str) -> Callable[[], Simulated | Compiled]:
    """Import numba for `device` (cpu or cuda), and say how a worker makes its backend."""
    torch.set_num_threads(1)
    if device == "cuda":
        from numba import cuda  # noqa: F401  imported once, before the workers are forked

        return Compiled
    from grader.worker import numba_sim

    numba_sim.install()
    return Simulated
