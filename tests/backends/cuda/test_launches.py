"""Launches of CUDA C++, observed and withheld, on fakes of cuda.core's objects."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cuda import core

from grader.backends.cuda import launches
from grader.backends.cuda.refusals import LaunchRefused
from grader.model.messages import Launched

pytestmark = pytest.mark.slow

CONFIG = SimpleNamespace(block=(64, 2, 1), shmem_size=256)


class Kernel:
    """The parts of cuda.core's `Kernel` that we use."""

    handle = 7
    arguments_info = ((0, 8), (8, 4))
    attributes = SimpleNamespace(
        num_regs=20,
        local_size_bytes=0,
        shared_size_bytes=1024,
        max_dynamic_shared_size_bytes=48 << 10,
    )


bindings = SimpleNamespace(cuLaunchKernel=None)  # in place of cuda.bindings.driver


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What cuda.core was asked to start; a file would import its `launch` from now on."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(bindings, "cuLaunchKernel", lambda *given: calls.append(given) or (0,))
    start = lambda *arguments: calls.append(arguments)  # noqa: E731
    monkeypatch.setattr(core, "launch", start)
    monkeypatch.setattr(
        launches, "driver", SimpleNamespace(cuKernelGetName=lambda handle: (0, b"add"))
    )
    monkeypatch.setattr(launches, "driver_result", lambda result, name: result[1])
    monkeypatch.setattr(launches, "_BARE", ((bindings, "cuLaunchKernel", "success"),))
    launches.install()
    return calls


def test_a_launch_is_seen_with_its_block_and_dynamic_shared_memory(started):
    launch, kernel = core.launch, Kernel()
    with launches.observed() as seen:
        launch("stream", CONFIG, kernel, 1, 2)
        launch("stream", CONFIG, kernel, 1, 2)
    launch("stream", CONFIG, kernel, 3, 4)
    assert [arguments[3:] for arguments in started] == [(1, 2), (1, 2), (3, 4)]
    assert seen.most_launched() == (Launched("add", 20, 0, 1280, 128, 2),)


def test_local_memory_is_not_called_spills(monkeypatch):
    monkeypatch.setattr(Kernel.attributes, "local_size_bytes", 64)
    with launches.observed() as seen:
        core.launch("stream", CONFIG, Kernel(), 1, 2)
    assert seen.most_launched()[0].spills is None


def test_a_withheld_kernel_is_not_started(started):
    launch = core.launch
    with launches.withheld() as record:
        launch("stream", CONFIG, Kernel(), 1, 2)
    assert (record.launches, started) == (1, [])
    launch("stream", CONFIG, Kernel(), 1, 2)
    assert len(started) == 1


def test_a_first_launch_asks_for_no_more_shared_memory_than_the_kernel_may_have(started):
    large = SimpleNamespace(block=(64, 2, 1), shmem_size=49153)
    with pytest.raises(LaunchRefused, match="asks for 49,153 bytes of shared memory"):
        core.launch("stream", large, Kernel(), 1, 2)
    assert started == []


def test_a_launch_by_cudas_bindings_is_withheld_too(started):
    """Else a file that uses them would seem to work without kernels."""
    launch = bindings.cuLaunchKernel
    with launches.withheld() as record:
        assert launch(1, 2) == ("success",)
    assert (record.launches, started) == (1, [])
    assert launch(1, 2) == (0,)
    assert started == [(1, 2)]


def test_a_launch_into_a_graph_of_cuda_core_is_refused(started, monkeypatch):
    monkeypatch.setattr(launches.refused_names, "Builder", str)
    with pytest.raises(LaunchRefused, match=r"a graph of cuda\.core cannot be switched off"):
        core.launch("builder", CONFIG, Kernel(), 1, 2)
    assert started == []


def test_a_first_launch_is_held_to_the_kernels_parameters(started, monkeypatch):
    with pytest.raises(LaunchRefused, match="argument 2 of add is float of 64 bits"):
        core.launch("stream", CONFIG, Kernel(), 1, 2.0)
    monkeypatch.delattr(Kernel, "arguments_info")
    core.launch("stream", CONFIG, Kernel(), 1, 2.0)
    assert len(started) == 1
