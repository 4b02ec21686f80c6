"""numba CUDA kernels in a worker with a GPU: compiled, on device arrays that view the arena."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from numba import cuda

from grader.worker import compiled
from grader.worker.allocations import Allocations
from grader.worker.compiled import Launches
from grader.worker.ledger import Ledger
from grader.worker.mapping import Views, map_arena, record_event


class Compiled:
    """Kernels are compiled for this GPU."""

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
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
        cuda.synchronize()  # type: ignore[no-untyped-call]

    def settle(self) -> None:
        """Numba puts off freeing what nobody needs; a file may use torch, too."""
        cuda.current_context().memory_manager.deallocations.clear()  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()

    def root_cause(self, error: BaseException) -> BaseException:
        return error


def install() -> type[Compiled]:
    """Prepare this process, before workers are forked, and say how a worker makes its backend."""
    torch.set_num_threads(1)
    return Compiled
