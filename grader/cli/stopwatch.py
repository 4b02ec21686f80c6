"""The time that somebody has waited for a command, from the start of its process."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

MOST_BEFORE_S = 60.0  # that Python may take to get here; more is a clock that does not fit
_STARTED = 19  # of the fields behind the name in /proc/PID/stat, in ticks since the machine started


@dataclass
class Stopwatch:
    began: float = field(default_factory=time.monotonic)

    def restart(self, *, with_process: bool) -> None:
        """Begin now or, `with_process`, when the operating system started this process."""
        self.began = time.monotonic() - (_age_s() if with_process else 0.0)

    def seconds(self) -> float:
        return time.monotonic() - self.began


def _age_s() -> float:
    """Return the seconds since this process started, or 0 where nothing says so."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        stat = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
        started_s = int(stat.rpartition(")")[2].split()[_STARTED]) / os.sysconf("SC_CLK_TCK")
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
        if 0 <= age_s <= MOST_BEFORE_S:
            return age_s
    return 0.0


STOPWATCH = Stopwatch()
