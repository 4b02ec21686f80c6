"""CUDA C++ in a worker with a GPU: compiled by cuda.core, on torch tensors that view the arena."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from cuda import core

from grader.backends.cuda import contract, launches, programs, recording, refused_names
from grader.backends.cuda.preload import preload
from grader.worker import contract as of_torch
from grader.worker.gpu import OnGpu
from grader.worker.launches import Launches, Withheld
from grader.worker.recorder import Recorder
from grader.worker.requirements import require

__all__ = ["Compiled", "install", "preload"]


class Compiled(OnGpu):
    """Kernels that cuda.core compiles and launches."""

    def __init__(self) -> None:
        super().__init__(wrap=lambda tensor: tensor)

    def observing(self) -> AbstractContextManager[Launches]:
        return launches.observed()

    def recording(self) -> AbstractContextManager[Recorder]:
        return recording.recorded(self._arena)

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        return launches.withheld()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def settle(self) -> None:
        torch.cuda.empty_cache()


def install() -> type[Compiled]:
    """Prepare this process, before workers are forked, and return its class of kernels.

    Raises CannotGrade when an installed version does not fit.
    """
    require(of_torch.COMPILED, contract.COMPILED)
    torch.set_num_threads(1)
    core.Program = programs.Program
    programs.headers()  # looked up before walls rise
    launches.install()
    refused_names.install()
    return Compiled
