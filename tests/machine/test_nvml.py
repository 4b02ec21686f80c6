"""What is made of NVML's answers, with a stand-in for its library."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from grader.machine import nvml

NOBODY = 2**22 + 1  # above the process numbers that Linux gives


class NotFound(Exception):
    """Stands for NVMLError."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A pynvml with one GPU that is hot, held by its power limit, and used by two processes."""
    clocks = {"sm": 1200, "memory": 3000}

    def handle(uuid: str) -> str:
        if uuid != "GPU-1":
            raise NotFound(uuid)
        return "device"

    fake = SimpleNamespace(
        NVMLError=NotFound,
        NVML_CLOCK_SM="sm",
        NVML_CLOCK_MEM="memory",
        NVML_TEMPERATURE_GPU="gpu",
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=handle,
        nvmlSystemGetDriverVersion=lambda: "580.159.04",
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda device: 0x1 | 0x4 | 0x20,
        nvmlDeviceGetClockInfo=lambda device, kind: clocks[kind],
        nvmlDeviceGetMaxClockInfo=lambda device, kind: 3200,
        NVML_DEVICE_MIG_ENABLE=1,
        NVML_FEATURE_ENABLED=1,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: ("device", "other")[index],
        nvmlDeviceGetMinorNumber=lambda device: 3,
        nvmlDeviceGetName=lambda device: f"NVIDIA {device}",
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(
            total={"device": 80 << 30, "other": 16 << 30}[device]
        ),
        nvmlDeviceGetMigMode=lambda device: [0, 1],
        nvmlDeviceGetEccMode=lambda device: [1, 0],
        nvmlDeviceGetTemperature=lambda device, sensor: 91,
        nvmlDeviceGetComputeRunningProcesses=lambda device: [
            SimpleNamespace(pid=os.getpid(), usedGpuMemory=5 << 20),
            SimpleNamespace(pid=NOBODY, usedGpuMemory=None),
        ],
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_idleness_is_no_slowdown(library: SimpleNamespace):
    reading = nvml.read("GPU-1")
    assert reading == nvml.Reading(1200, 3000, 3200, 91, ("power limit", "hot (software)"))


def test_a_card_without_a_sensor_gives_no_reading(library: SimpleNamespace):
    def not_supported(device: object, sensor: object) -> int:
        raise NotFound("NVMLError_NotSupported")

    library.nvmlDeviceGetTemperature = not_supported
    assert nvml.read("GPU-1") is None


def test_an_unknown_gpu_gives_nothing(library: SimpleNamespace):
    assert nvml.read("GPU-2") is None
    assert nvml.others("GPU-2", own=set()) == ()


def test_others_are_those_that_exist_here_and_are_not_ours(library: SimpleNamespace):
    (other,) = nvml.others("GPU-1", own=set())
    assert (other.pid, other.held) == (os.getpid(), 5 << 20)
    assert other.name
    assert nvml.others("GPU-1", own={os.getpid()}) == ()


def test_the_number_of_the_device_node_belongs_to_the_uuid(library: SimpleNamespace):
    assert nvml.minor_number("GPU-1") == 3
    assert nvml.minor_number("GPU-2") is None


def test_the_driver_names_its_version(library: SimpleNamespace):
    assert nvml.driver_version() == "580.159.04"


def test_the_driver_names_its_gpus(library: SimpleNamespace):
    assert nvml.names() == ("NVIDIA device", "NVIDIA other")
    assert nvml.least_memory() == 16 << 30


def test_modes_are_those_of_now_and_not_of_the_next_start(library: SimpleNamespace):
    assert nvml.mig("GPU-1") is False
    assert nvml.ecc("GPU-1") is True
    assert nvml.most_sm_mhz("GPU-1") == 3200
    library.nvmlDeviceGetMigMode = lambda device: [1, 0]
    library.nvmlDeviceGetEccMode = lambda device: [0, 1]
    assert nvml.mig("GPU-1") is True
    assert nvml.ecc("GPU-1") is False


def test_a_card_without_modes_has_none(library: SimpleNamespace):
    def not_supported(device: object) -> list[int]:
        raise NotFound("NVMLError_NotSupported")

    library.nvmlDeviceGetMigMode = library.nvmlDeviceGetEccMode = not_supported
    assert nvml.mig("GPU-1") is None
    assert nvml.ecc("GPU-1") is None
    assert nvml.most_sm_mhz("GPU-2") is None


def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)  # importing it fails then
    assert nvml.read("GPU-1") is None
    assert nvml.others("GPU-1", own=set()) == ()
    assert nvml.driver_version() is None
    assert nvml.names() == ()
    assert nvml.least_memory() is None
    assert nvml.mig("GPU-1") is None


CARDS = tuple(nvml.Card(uuid, "NVIDIA H200", 1 << 37) for uuid in ("GPU-a1", "GPU-a2", "GPU-b2"))


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("2,0", [2, 0]),
        ("GPU-b2", [2]),
        ("GPU-b", [2]),
        ("GPU-a", []),  # two begin so: CUDA refuses it, too
        ("7", []),
    ],
)
def test_cuda_visible_devices_names_cards(
    monkeypatch: pytest.MonkeyPatch, named: str | None, found: list[int]
):
    monkeypatch.setattr(nvml, "cards", lambda: CARDS)
    assert nvml.visible(named) == [CARDS[number] for number in found]
