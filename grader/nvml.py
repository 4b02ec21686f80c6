"""temporary"""

from __future__ import annotations
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    sm_mhz: int
    memory_mhz: int
    most_sm_mhz: int
    most_memory_mhz: int
    temperature_c: int
    power_w: float
    slowdowns: tuple[str, ...]


@dataclass(frozen=True)
class Process:
    pid: int
    name: str
    used_bytes: int | None


def read(device: int = 0) -> Reading | None:
    try:
        import pynvml as n

        n.nvmlInit()
        h = n.nvmlDeviceGetHandleByIndex(0)
        bits = n.nvmlDeviceGetCurrentClocksEventReasons(h)
        names = {
            4: "power limit",
            8: "hardware slowdown",
            0x20: "hot (software)",
            0x40: "hot (hardware)",
            0x80: "power brake",
        }
        return Reading(
            n.nvmlDeviceGetClockInfo(h, 1),
            n.nvmlDeviceGetClockInfo(h, 2),
            n.nvmlDeviceGetMaxClockInfo(h, 1),
            n.nvmlDeviceGetMaxClockInfo(h, 2),
            n.nvmlDeviceGetTemperature(h, 0),
            n.nvmlDeviceGetPowerUsage(h) / 1e3,
            tuple(v for k, v in names.items() if bits & k),
        )
    except Exception as e:
        return None


def others(own: Collection[int], device: int = 0) -> tuple[Process, ...]:
    return ()
