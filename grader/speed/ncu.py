"""Nsight Compute's counters of each kernel launch of one program, where the machine allows it."""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.machine import toolkit
from grader.model import GraderError
from grader.sandbox import commands

DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
TIME = "gpu__time_duration.sum"
REQUIRED = (DRAM_READ, DRAM_WRITTEN, TIME)  # of every launch; one pass counts them
# With `--print-units base` ncu prints in these units, and not in units of its own choice.
_UNITS = {
    "": 1.0,
    "%": 1.0,
    "inst": 1.0,
    "warp": 1.0,
    "inst/cycle": 1.0,
    "byte": 1.0,
    "Kbyte": 1e3,
    "Mbyte": 1e6,
    "Gbyte": 1e9,
    "Tbyte": 1e12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "nsecond": 1e-9,
    "usecond": 1e-6,
    "msecond": 1e-3,
    "second": 1.0,
}


class NotCounted(Exception):
    """No counters could be read: `problem` says why, `next_step` what helps."""

    def __init__(self, problem: str, next_step: str = "") -> None:
        super().__init__(problem)
        self.problem, self.next_step = problem, next_step


@dataclass(frozen=True)
class Launch:
    """The name and the counters of one kernel launch (bytes, seconds, percent, warps per issue)."""

    name: str
    counters: Mapping[str, float]


def find_ncu() -> Path:
    """Find `ncu`. Raises NotCounted without it."""
    ncu = toolkit.find("ncu")
    if ncu is None:
        raise NotCounted(
            "Nsight Compute is not installed: there is no program `ncu`.",
            "It comes with NVIDIA's CUDA toolkit; put its folder on PATH.",
        )
    return ncu


def count(
    program: Sequence[str], home: Path, metrics: Sequence[str], limit_s: float
) -> list[Launch]:
    """Run a program as a worker, in its home, and return the launches that it has profiled.

    Metrics other than REQUIRED may be missing. Raises NotCounted.
    """
    ncu = find_ncu()
    # Apart from the home, whose path a learner's code may know.
    with tempfile.TemporaryDirectory(prefix="grader-report-") as reports:
        log = Path(reports) / "counters.csv"
        done = commands.run_once(command(ncu, program, log, metrics), home, limit_s)
        output = log.read_text(errors="replace") if log.exists() else ""
    if done.status is None:
        raise NotCounted(
            f"Nsight Compute was stopped after {limit_s:g} s.",
            "Run `grader check`: is the kernel right?",
        )
    return counted(output, done.output, done.status, metrics)


def command(ncu: Path, program: Sequence[str], log: Path, metrics: Sequence[str]) -> list[str]:
    # Clocks stay as they are, because a user may not set them.
    return [
        *(str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)),
        *("--clock-control", "none", "--profile-from-start", "off"),
        *("--target-processes", "application-only", "--metrics", ",".join(metrics)),
        *program,
    ]


def counted(output: str, messages: str, status: int, metrics: Sequence[str]) -> list[Launch]:
    """Read ncu's log and what the program printed. Raises NotCounted where something is missing."""
    if "ERR_NVGPUCTRPERM" in output + messages:
        raise NotCounted(
            "This machine lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM).",
            "An administrator permits it with the driver's setting "
            "NVreg_RestrictProfilingToAdminUsers=0: put `options nvidia "
            "NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d and restart; a container "
            "needs the capability SYS_ADMIN besides.",
        )
    try:
        launched = launches(output, metrics)
    except GraderError as error:
        # An unknown unit must not cost the rest of a benchmark.
        raise NotCounted(error.message, "Tell whoever runs the course.") from None
    if not all(set(REQUIRED) <= launch.counters.keys() for launch in launched):
        raise NotCounted(
            "Nsight Compute did not count the bytes read from and written to memory.",
            "Does `ncu --query-metrics` list dram__bytes_read on this GPU?",
        )
    if not launched:
        lines = [line for line in (messages + "\n" + output).splitlines() if line.strip()]
        last = next((line for line in lines if "==ERROR==" in line), (lines or ["nothing"])[-1])
        raise NotCounted(
            f"Nsight Compute counted nothing (exit status {status}): {last[:300]}",
            "Does the kernel pass `grader check`? Does `ncu --version` work?",
        )
    return launched


def total(launched: Sequence[Launch], metric: str) -> float:
    return sum(launch.counters[metric] for launch in launched)


def launches(output: str, metrics: Sequence[str]) -> list[Launch]:
    """Parse the output of `ncu --csv --page raw`: a line of names, one of units, one a launch.

    Lines before the table come from the program itself or are ncu's messages, which begin with
    `==`. Raises GraderError for an unknown unit.
    """
    lines = output.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    names, *below = csv.reader(line for line in lines[start:] if line.startswith('"'))
    launched = []
    for row in below[1:]:
        cells = dict(zip(names, zip(row, below[0], strict=False), strict=False))
        if "Kernel Name" not in cells:
            continue
        counters = {m: number(*cells[m]) for m in metrics if m in cells and cells[m][0]}
        known = {m: value for m, value in counters.items() if value is not None}
        launched.append(Launch(cells["Kernel Name"][0], known))
    return launched


def number(text: str, unit: str) -> float | None:
    """Return a cell in bytes, seconds or percent. Raises GraderError for an unknown unit."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None  # `n/a` or `(!) nan`
    if not math.isfinite(value):
        return None
    if unit not in _UNITS:
        raise GraderError(f"Nsight Compute reports in {unit!r}, a unit that the grader lacks.")
    return value * _UNITS[unit]
