"""Launches of numba CUDA kernels, observed and withheld, on fakes of numba-cuda's objects."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from grader.backends.numba import launches
from grader.model.messages import Launched

pytestmark = pytest.mark.slow


class Kernel:
    """The parts of numba-cuda's `_Kernel` that we use."""

    py_func = SimpleNamespace(__name__="partial_sums")
    regs_per_thread = 20
    shared_mem_per_block = 1024
    local_mem_per_thread = 0

    def launch(self, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
        self.launched = (args, griddim, blockdim, stream, sharedmem)


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = ModuleType("numba.cuda")
    cuda.dispatcher = SimpleNamespace(_Kernel=Kernel)
    monkeypatch.setitem(sys.modules, "numba.cuda", cuda)


def test_a_launch_is_seen_with_its_block_and_dynamic_shared_memory():
    original, kernel = Kernel.launch, Kernel()
    with launches.observed() as seen:
        kernel.launch("args", (4, 1, 1), (16, 8, 1), 7, 256)
        kernel.launch("args", (4, 1, 1), (64, 1, 1))
    assert Kernel.launch is original
    assert kernel.launched == ("args", (4, 1, 1), (64, 1, 1), 0, 0)
    assert seen.most_launched() == (
        Launched("partial_sums", 20, 0, 1280, 128, 1),
        Launched("partial_sums", 20, 0, 1024, 64, 1),
    )


def test_local_memory_is_not_called_spills():
    kernel = Kernel()
    kernel.local_mem_per_thread = 64
    with launches.observed() as seen:
        kernel.launch((), (1, 1, 1), (32, 1, 1))
    assert seen.most_launched()[0].spills is None


def test_a_withheld_kernel_is_not_started():
    original, kernel = Kernel.launch, Kernel()
    with launches.withheld() as record:
        kernel.launch("args", (4, 1, 1), (16, 8, 1), 7, 256)
    assert not hasattr(kernel, "launched")
    assert record.launches == 1
    assert Kernel.launch is original
