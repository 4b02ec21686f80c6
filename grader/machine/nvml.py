"""Figures of the GPU from NVIDIA's management library: clocks, temperature, processes.

Nothing here raises: a figure that NVML cannot give is None, or is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

VISIBLE = "CUDA_VISIBLE_DEVICES"  # the variable that names the GPUs which a process may use

# nvml.h, nvmlClocksEventReason*: reasons for a clock below the requested one. An idle GPU, and a
# clock that somebody set, are not slowdowns.
SLOWDOWNS = {
    0x04: "power limit",
    0x08: "hardware slowdown",
    0x20: "hot (software)",
    0x40: "hot (hardware)",
    0x80: "power brake",
}


@dataclass(frozen=True)
class Reading:
    """Clocks and temperature of the GPU at one moment.

    `slowdowns` are the values of SLOWDOWNS that are active.
    """

    sm_mhz: int
    memory_mhz: int
    most_memory_mhz: int
    temperature_c: int
    slowdowns: tuple[str, ...]


@dataclass(frozen=True)
class Process:
    """A program that computes on the GPU. `held` is its memory there in bytes, if known."""

    pid: int
    name: str
    held: int | None = None


@dataclass(frozen=True)
class Card:
    """A GPU, and the bytes of its memory."""

    uuid: str
    name: str
    memory: int


def read(uuid: str) -> Reading | None:
    def query(pynvml: Any) -> Reading:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        active = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)
        return Reading(
            sm_mhz=pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM),
            memory_mhz=pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM),
            most_memory_mhz=pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_MEM),
            temperature_c=pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU),
            slowdowns=tuple(word for bit, word in SLOWDOWNS.items() if active & bit),
        )

    return _query(query)


def others(uuid: str, own: Set[int]) -> tuple[Process, ...]:
    """List the programs that compute on the GPU with this UUID and are not in `own`.

    In a container NVML may list the host's process numbers. A number that does not exist here is
    left out, because it may be one of our own processes.
    """

    def query(pynvml: Any) -> dict[int, int | None]:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        running = pynvml.nvmlDeviceGetComputeRunningProcesses(device)
        return {one.pid: one.usedGpuMemory for one in running}

    held = _query(query) or {}
    return tuple(
        Process(pid, name, held[pid]) for pid in sorted(held.keys() - own) if (name := _name(pid))
    )


def driver_version() -> str | None:
    return _query(lambda pynvml: str(pynvml.nvmlSystemGetDriverVersion()))


def names() -> tuple[str, ...]:
    def query(pynvml: Any) -> tuple[str, ...]:
        devices = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return tuple(str(pynvml.nvmlDeviceGetName(device)) for device in devices)

    return _query(query) or ()


def cards() -> tuple[Card, ...]:
    """List the GPUs here, in the order of their numbers."""

    def query(pynvml: Any) -> tuple[Card, ...]:
        devices = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return tuple(
            Card(
                uuid=str(pynvml.nvmlDeviceGetUUID(device)),
                name=str(pynvml.nvmlDeviceGetName(device)),
                memory=int(pynvml.nvmlDeviceGetMemoryInfo(device).total),
            )
            for device in devices
        )

    return _query(query) or ()


def visible(named: str | None) -> list[Card]:
    """Return the cards that a value of VISIBLE leaves, in its order; None: all."""
    every = list(cards())
    if named is None:
        return every
    numbered = {str(number): card for number, card in enumerate(every)}
    names = [part.strip() for part in named.split(",") if part.strip()]
    found = [numbered.get(name) or _by_uuid(every, name) for name in names]
    return [card for card in found if card is not None]


def _by_uuid(every: list[Card], name: str) -> Card | None:
    fitting = [card for card in every if name.startswith("GPU-") and card.uuid.startswith(name)]
    return fitting[0] if len(fitting) == 1 else None  # CUDA refuses what fits several


def least_memory() -> int | None:
    """Return the bytes of memory of the GPU here that has least."""

    def query(pynvml: Any) -> int:
        devices = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return min(int(pynvml.nvmlDeviceGetMemoryInfo(device).total) for device in devices)

    return _query(query)


def most_sm_mhz(uuid: str) -> int | None:
    def query(pynvml: Any) -> int:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return int(pynvml.nvmlDeviceGetMaxClockInfo(device, pynvml.NVML_CLOCK_SM))

    return _query(query)


def minor_number(uuid: str) -> int | None:
    def query(pynvml: Any) -> int:
        return int(pynvml.nvmlDeviceGetMinorNumber(pynvml.nvmlDeviceGetHandleByUUID(uuid)))

    return _query(query)


def mig(uuid: str) -> bool | None:
    """Report whether this GPU is split into instances (MIG); None on a card without MIG."""

    def query(pynvml: Any) -> bool:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        now, _after_a_reset = pynvml.nvmlDeviceGetMigMode(device)
        return bool(now == pynvml.NVML_DEVICE_MIG_ENABLE)

    return _query(query)


def ecc(uuid: str) -> bool | None:
    """Report whether this GPU's memory corrects errors; None where it never does."""

    def query(pynvml: Any) -> bool:
        device = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        now, _after_a_reset = pynvml.nvmlDeviceGetEccMode(device)
        return bool(now == pynvml.NVML_FEATURE_ENABLED)

    return _query(query)


def _query(query: Callable[[Any], T]) -> T | None:
    """Run a query; None without the library or a driver, or where a card lacks the sensor."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return query(pynvml)
    except pynvml.NVMLError:
        return None


def _name(pid: int) -> str:
    """Return the process's name for itself; empty when no process has this number."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
