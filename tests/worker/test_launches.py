"""Which kernels a call launches, seen through fakes of Triton's and numba's objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType, SimpleNamespace

import pytest
import torch

from grader.model.messages import LARGEST_COUNT, MOST_KERNELS, Launched, Reply, WireError
from grader.worker import launches
from grader.worker.loop import Worker


class TritonKernel:
    """What `triton.compiler.CompiledKernel` shows; registers are known once it has run."""

    def __init__(self, name: str = "_softmax") -> None:
        target = SimpleNamespace(warp_size=32)
        self.name = name
        self.metadata = SimpleNamespace(num_warps=8, shared=512, target=target)

    def launch_metadata(self, grid: object, stream: object, *args: object) -> str:
        return "from the original"

    def run(self) -> None:
        assert self.launch_metadata((1,), 0, "x") == "from the original"
        self.n_regs, self.n_spills = 48, 3


class NumbaKernel:
    """What numba-cuda's `_Kernel` shows."""

    py_func = SimpleNamespace(__name__="partial_sums")
    regs_per_thread = 20
    shared_mem_per_block = 1024
    local_mem_per_thread = 0

    def launch(self, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
        self.launched = (args, griddim, blockdim, stream, sharedmem)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    triton, numba = ModuleType("triton.compiler"), ModuleType("numba.cuda")
    triton.CompiledKernel = TritonKernel
    numba.dispatcher = SimpleNamespace(_Kernel=NumbaKernel)
    monkeypatch.setitem(sys.modules, "triton.compiler", triton)
    monkeypatch.setitem(sys.modules, "numba.cuda", numba)


@pytest.mark.usefixtures("fakes")
def test_a_triton_launch_is_seen_with_what_the_compiler_made():
    original = TritonKernel.launch_metadata
    once, twice = TritonKernel("_once"), TritonKernel()
    with launches.triton_launches() as seen:
        once.run()
        twice.run()
        twice.run()
    assert TritonKernel.launch_metadata is original
    assert seen.told() == (
        Launched("_softmax", 48, 12, 512, 256, 2),
        Launched("_once", 48, 12, 512, 256, 1),
    )


@pytest.mark.usefixtures("fakes")
def test_a_kernel_that_a_version_describes_otherwise_is_left_out():
    never_ran = TritonKernel()
    with launches.triton_launches() as seen:
        never_ran.launch_metadata((1,), 0)
    assert seen.told() == ()


@pytest.mark.usefixtures("fakes")
def test_a_numba_launch_is_seen_with_its_block_and_dynamic_shared_memory():
    original, kernel = NumbaKernel.launch, NumbaKernel()
    with launches.numba_launches() as seen:
        kernel.launch("args", (4, 1, 1), (16, 8, 1), 7, 256)
        kernel.launch("args", (4, 1, 1), (64, 1, 1))
    assert NumbaKernel.launch is original
    assert kernel.launched == ("args", (4, 1, 1), (64, 1, 1), 0, 0)
    assert seen.told() == (
        Launched("partial_sums", 20, 0, 1280, 128, 1),
        Launched("partial_sums", 20, 0, 1024, 64, 1),
    )


@pytest.mark.usefixtures("fakes")
def test_numbas_local_memory_is_not_called_spills():
    kernel = NumbaKernel()
    kernel.local_mem_per_thread = 64
    with launches.numba_launches() as seen:
        kernel.launch((), (1, 1, 1), (32, 1, 1))
    assert seen.told()[0].spills is None


def test_a_worker_calls_the_entry_once_and_tells():
    class Backend:
        def before_call(self, refs):
            pass

        def argument(self, ref):
            return ref["name"]

        def observing(self):
            return launches.triton_launches()

        def synchronize(self):
            done.append("synchronized")

    done: list[object] = []
    worker = Worker(Backend(), None)
    worker._entry = lambda *arguments: done.append(arguments)
    assert worker.do({"op": "resources", "call": [{"name": "x"}, 2.0]}) == {"launched": ()}
    assert done == [("x", 2.0), "synchronized"]


class LoadedKernel:
    """What `CompiledKernel` does at a launch: `run` loads it first, and may fail at that."""

    fails = False

    def __init__(self) -> None:
        self.done: list[object] = []

    @property
    def run(self):
        self.done.append("loaded")
        if self.fails:
            raise RuntimeError("out of resources")
        return self.done.append


@pytest.mark.usefixtures("fakes")
def test_without_launches_a_triton_kernel_is_loaded_and_not_started(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sys.modules["triton.compiler"], "CompiledKernel", LoadedKernel)
    kernel, original = LoadedKernel(), vars(LoadedKernel)["run"]
    with launches.triton_without_launches():
        kernel.run("started")
        kernel.fails = True
        with pytest.raises(RuntimeError, match="out of resources"):
            kernel.run("started")
    assert kernel.done == ["loaded", "loaded"]
    assert vars(LoadedKernel)["run"] is original


@pytest.mark.usefixtures("fakes")
def test_without_launches_a_numba_kernel_is_not_started():
    original, kernel = NumbaKernel.launch, NumbaKernel()
    with launches.numba_without_launches():
        kernel.launch("args", (4, 1, 1), (16, 8, 1), 7, 256)
    assert not hasattr(kernel, "launched")
    assert NumbaKernel.launch is original


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    "without_launches", [launches.triton_without_launches, launches.numba_without_launches]
)
def test_without_launches_no_graph_is_replayed(
    monkeypatch: pytest.MonkeyPatch, without_launches: Callable[[], AbstractContextManager[None]]
):
    class Graph:
        def replay(self) -> None:
            replayed.append(self)

    replayed: list[Graph] = []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    with without_launches():
        Graph().replay()
    assert replayed == []
    Graph().replay()
    assert len(replayed) == 1


GOOD = {
    "kernel": "k",
    "registers": 1,
    "spills": None,
    "shared_bytes": 0,
    "threads": 32,
    "launches": 1,
}


def test_what_was_launched_crosses_the_wall():
    reply = Reply(seq=1, launched=(Launched("k", 1, None, 0, 32, 1),))
    assert Reply.parse(reply.dump()) == reply


def test_only_so_many_kernels_and_printable_names_are_taken():
    many = [{**GOOD, "kernel": "\x1b[2J"}] * (MOST_KERNELS + 1)
    told = Reply.parse({"seq": 1, "launched": many}).launched
    assert len(told) == MOST_KERNELS
    assert told[0].kernel == "\ufffd[2J"


@pytest.mark.parametrize(
    "forged",
    [
        {"registers": -1},
        {"threads": LARGEST_COUNT + 1},
        {"threads": True},
        {"shared_bytes": 0.5},
        {"spills": "0"},
        {"launches": None},
        {"kernel": 7},
    ],
)
def test_forged_figures_of_another_form_are_refused(forged: dict[str, object]):
    with pytest.raises(WireError):
        Reply.parse({"seq": 1, "launched": [{**GOOD, **forged}]})
