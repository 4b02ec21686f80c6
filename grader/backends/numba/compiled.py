"""numba CUDA kernels in a worker with a GPU: compiled, on device arrays that view the arena."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from numba import cuda

from grader.backends.numba import contract, launches
from grader.backends.numba.preload import preload
from grader.backends.numba.refusals import explained
from grader.worker import contract as of_torch
from grader.worker.gpu import OnGpu
from grader.worker.launches import Launches, Withheld
from grader.worker.requirements import require

__all__ = ["Compiled", "install", "preload"]


class Compiled(OnGpu):
    """Kernels that numba compiles."""

    def __init__(self) -> None:
        super().__init__(wrap=cuda.as_cuda_array)

    def observing(self) -> AbstractContextManager[Launches]:
        return launches.observed()

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        return launches.withheld()

    def root_cause(self, error: BaseException) -> BaseException:
        return explained(error)

    def synchronize(self) -> None:
        cuda.synchronize()

    def settle(self) -> None:
        """Free memory at once: numba delays that, and a file may use torch, too."""
        cuda.current_context().memory_manager.deallocations.clear()
        torch.cuda.empty_cache()


def install() -> type[Compiled]:
    """Prepare this process, before workers are forked, and return its class of kernels.

    Raises CannotGrade when an installed version does not fit.
    """
    require(of_torch.COMPILED, contract.COMPILED)
    torch.set_num_threads(1)
    return Compiled
