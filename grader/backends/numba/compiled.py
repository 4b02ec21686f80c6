"""numba CUDA kernels in a worker with a GPU: compiled, on device arrays that view the arena."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from numba import cuda

from grader.worker import launches, preload
from grader.worker.gpu import OnGpu
from grader.worker.launches import Launches


class Compiled(OnGpu):
    """Kernels of numba's."""

    def __init__(self) -> None:
        super().__init__(wrap=cuda.as_cuda_array)

    def observing(self) -> AbstractContextManager[Launches]:
        return launches.numba_launches()

    def without_kernels(self) -> AbstractContextManager[object]:
        return launches.numba_without_launches()

    def synchronize(self) -> None:
        cuda.synchronize()

    def settle(self) -> None:
        """Numba puts off freeing what nobody needs; a file may use torch, too."""
        cuda.current_context().memory_manager.deallocations.clear()
        torch.cuda.empty_cache()


def install() -> type[Compiled]:
    """Prepare this process, before workers are forked, and say how a worker makes its backend."""
    torch.set_num_threads(1)
    preload.numba()
    return Compiled
