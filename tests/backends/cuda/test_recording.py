"""Launches of CUDA C++ that another process makes again, on fakes of cuda.core's objects."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda import core
from cuda.bindings.driver import CUresult

from grader.backends.cuda import launches, programs, recording
from grader.grading.steps.traffic import counters, limits
from grader.model import Outcome, Recording
from grader.sandbox import NotSimulated

pytestmark = pytest.mark.slow

ARENA = range(1 << 40, (1 << 40) + 4096)
SCRATCH = 1 << 41


@dataclass(frozen=True)
class Kernel:
    handle: int
    arguments_info: tuple[tuple[int, int], ...]


class Built:
    """The parts of cuda.core's `ObjectCode` that we use."""

    def __init__(self, code: bytes, handle: int, code_type: str = "cubin") -> None:
        self.code, self.code_type, self._handle = code, code_type, handle

    def get_kernel(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(handle=self._handle)


def address_range(number: int) -> tuple[CUresult, int, int]:
    if SCRATCH <= number < SCRATCH + 1000:
        return CUresult.CUDA_SUCCESS, SCRATCH, 1000
    return CUresult.CUDA_ERROR_NOT_FOUND, 0, 0


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(core, "launch", lambda *given: calls.append(given))
    monkeypatch.setattr(launches, "_BARE", ())
    monkeypatch.setattr(launches, "name_of", lambda kernel: "add")
    fake = SimpleNamespace(cuMemGetAddressRange=address_range, CUresult=CUresult)
    monkeypatch.setattr(recording, "driver", fake)
    code = [Built(b"another", 6), Built(b"ptx", 7, "ptx"), Built(b"own", 7)]
    monkeypatch.setattr(programs, "compiled", code)
    launches.install()
    return calls


def recorded(sizes: tuple[int, ...], *arguments: Any, handle: int = 7, **config: Any) -> Recording:
    plain = {"grid": (3, 2, 1), "block": (64, 1, 1), "shmem_size": 16, "cluster": None}
    launch = SimpleNamespace(**plain | {"is_cooperative": False} | config)
    kernel = Kernel(handle, tuple((0, size) for size in sizes))
    with recording.recorded(ARENA) as recorder:
        core.launch("stream", launch, kernel, *arguments)
    return recorder.recording()


def test_a_launch_has_the_code_of_its_kernel_and_all_sizes(started):
    found = recorded((8,), ARENA.start + 8)
    (launch,) = found.launches
    assert len(started) == 1
    assert found.code == ("b3du",)
    assert (launch.kernel, launch.grid, launch.threads, launch.shared) == ("add", (3, 2, 1), 64, 16)


def test_each_argument_has_the_bytes_of_its_parameter():
    arguments = (ARENA.start + 8, SCRATCH + 4, 5000, -1, np.float32(0.5), 2.5, True, np.int8(-2))
    found = recorded((8, 8, 8, 4, 4, 8, 1, 1), *arguments)
    assert found.launches[0].parameters == (
        *(("arena", 8), ("scratch", 4), ("u64", 5000), ("u32", 2**32 - 1)),
        *(("fp32", 0.5), ("fp64", 2.5), ("u8", 1), ("u8", 254)),
    )
    halves = recorded((2, 4), np.float16(1.0), ctypes.c_uint32(9))
    assert halves.launches[0].parameters == (("u16", 0x3C00), ("u32", 9))


@pytest.mark.parametrize(
    ("sizes", "arguments", "changed", "why"),
    [
        ((), (), {"cluster": (2, 1, 1)}, "in clusters"),
        ((), (), {"is_cooperative": True}, "together"),
        ((), (), {"block": (8, 8, 1)}, "more than one axis"),
        ((), (), {"handle": 5}, "was not compiled to machine code"),
        ((128,), (object(),), {}, "it passes a object"),
    ],
)
def test_what_a_plain_launch_lacks_is_refused(sizes, arguments, changed, why: str, started):
    assert why in recorded(sizes, *arguments, **changed).refused
    assert len(started) == 1, "it is started, whatever is recorded"


def test_traffic_is_read_from_counters_and_without_a_gpu_not_simulated(monkeypatch):
    """A kernel of this language has no other count."""
    asked = []
    answer = SimpleNamespace(outcome=Outcome.PASS)
    monkeypatch.setattr(counters, "traffic", lambda grading, why: asked.append(why) or answer)
    spec = SimpleNamespace(backend="cuda")
    on = {d: SimpleNamespace(spec=spec, options=SimpleNamespace(device=d)) for d in ("cpu", "cuda")}
    assert limits.traffic(on["cuda"]).outcome is Outcome.PASS
    assert asked == [f"not simulated: {limits.ONLY_COUNTERS}"]
    with pytest.raises(NotSimulated, match="counters"):
        limits.traffic(on["cpu"])
