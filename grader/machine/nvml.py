"""What NVIDIA's management library tells of the GPU: clocks, heat, and who else uses it.

Nothing here raises: a figure that cannot be had is None, or is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

# nvml.h, nvmlClocksEventReason*: what makes the GPU run below the clock that it was asked for. An
# idle GPU, and a clock that somebody set, are no slowdowns.
SLOWDOWNS = {
    0x04: "power limit",
    0x08: "hardware slowdown",
    0x20: "hot (software)",
    0x40: "hot (hardware)",
    0x80: "power brake",
}


@dataclass(frozen=True)
class Reading:
    """One look at the GPU. `slowdowns` are values of SLOWDOWNS that are active."""

    sm_mhz: int
    memory_mhz: int
    most_memory_mhz: int
    temperature_c: int
    slowdowns: tuple[str, ...]


@dataclass(frozen=True)
class Process:
    """A program that computes on the GPU."""

    pid: int
    name: str


def read(uuid: str) -> Reading | None:
    """The GPU with this UUID now, or None where NVML cannot tell."""

    def looked(pynvml: Any) -> Reading:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        active = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)
        return Reading(
            sm_mhz=pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM),
            memory_mhz=pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM),
            most_memory_mhz=pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_MEM),
            temperature_c=pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU),
            slowdowns=tuple(word for bit, word in SLOWDOWNS.items() if active & bit),
        )

    return _asked(looked)


def others(uuid: str, own: Collection[int]) -> tuple[Process, ...]:
    """Programs that compute on the GPU with this UUID and are not in `own`.

    In a container NVML may list the host's process numbers: one that does not exist here is left
    out, for it may be one of ours by another number.
    """

    def listed(pynvml: Any) -> set[int]:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return {one.pid for one in pynvml.nvmlDeviceGetComputeRunningProcesses(device)}

    pids = sorted((_asked(listed) or set()) - set(own))
    return tuple(Process(pid, name) for pid in pids if (name := _name(pid)))


def driver_version() -> str | None:
    """Of NVIDIA's driver, such as `580.159.04`."""
    return _asked(lambda pynvml: str(pynvml.nvmlSystemGetDriverVersion()))


def names() -> tuple[str, ...]:
    """The GPUs that the driver knows, whether or not torch may use them."""

    def listed(pynvml: Any) -> tuple[str, ...]:
        devices = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return tuple(str(pynvml.nvmlDeviceGetName(device)) for device in devices)

    return _asked(listed) or ()


def most_sm_mhz(uuid: str) -> int | None:
    """The highest clock of the processors of the GPU with this UUID, in MHz."""

    def looked(pynvml: Any) -> int:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return int(pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_SM))

    return _asked(looked)


def minor_number(uuid: str) -> int | None:
    """The N of /dev/nvidiaN, of the GPU with this UUID."""

    def looked(pynvml: Any) -> int:
        return int(pynvml.nvmlDeviceGetMinorNumber(pynvml.nvmlDeviceGetHandleByUUID(uuid)))

    return _asked(looked)


def mig(uuid: str) -> bool | None:
    """Whether the GPU with this UUID is cut into instances (MIG); None on a card that cannot be."""

    def looked(pynvml: Any) -> bool:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        now, _after_a_reset = pynvml.nvmlDeviceGetMigMode(device)
        return bool(now == pynvml.NVML_DEVICE_MIG_ENABLE)

    return _asked(looked)


def ecc(uuid: str) -> bool | None:
    """Whether the memory of the GPU with this UUID corrects errors; None where it never does."""

    def looked(pynvml: Any) -> bool:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        now, _after_a_reset = pynvml.nvmlDeviceGetEccMode(device)
        return bool(now == pynvml.NVML_FEATURE_ENABLED)

    return _asked(looked)


def _asked(question: Callable[[Any], T]) -> T | None:
    """NVML's answer; None without the library or a driver, or where a card lacks the sensor."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return question(pynvml)
    except pynvml.NVMLError:
        return None


def _name(pid: int) -> str:
    """What the process calls itself; empty where there is none of this number."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
