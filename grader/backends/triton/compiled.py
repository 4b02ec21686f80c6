"""Triton kernels in a worker with a GPU: compiled, on torch tensors that view the arena."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
import triton  # noqa: F401  imported once, before the workers are forked

from grader.worker import launches, preload
from grader.worker.gpu import OnGpu
from grader.worker.launches import Launches


class Compiled(OnGpu):
    """Kernels of Triton's."""

    def __init__(self) -> None:
        super().__init__(wrap=lambda tensor: tensor)

    def observing(self) -> AbstractContextManager[Launches]:
        return launches.triton_launches()

    def without_kernels(self) -> AbstractContextManager[object]:
        return launches.triton_without_launches()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def settle(self) -> None:
        torch.cuda.empty_cache()


def install() -> type[Compiled]:
    """Prepare this process, before workers are forked, and say how a worker makes its backend."""
    torch.set_num_threads(1)
    preload.triton()
    return Compiled
