"""A short digest of Nsight Compute's counters for one call, where the machine allows it.

`grader.worker.profiled_calls` makes the call, in a process of its own below `ncu`. No verdict
depends on these numbers. `rows` are rows of the scored case (elements of it, if it is 1-D).
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field
from torch import Tensor

from grader import backends
from grader.correctness import NAMES, LargeDraw
from grader.machine import gpu_lock, toolkit
from grader.model import ITEMSIZE, GraderError, Record, Spec
from grader.sandbox import fork_server
from grader.speed.ceilings import survey
from grader.speed.scored_case import arguments, bytes_per_row, scored_case
from grader.speed.sizing import L2_MULTIPLE, MEMORY_SHARE

LIMIT_S = 180.0  # ncu runs each launch once for every group of counters
TOP_STALLS = 3

DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
TIME = "gpu__time_duration.sum"
HIT_RATE = "lts__t_sector_hit_rate.pct"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_STALL_HEAD = "smsp__average_warps_issue_stalled_"
_STALL_TAIL = "_per_issue_active.ratio"
# Nsight Compute's reasons, in the words of its documentation ("Warp Stall Reasons").
STALLS = {
    "long_scoreboard": "waiting for memory (long scoreboard)",
    "short_scoreboard": "waiting for shared memory or special functions (short scoreboard)",
    "barrier": "waiting for other warps at a barrier",
    "membar": "waiting for a memory barrier",
    "lg_throttle": "too many memory instructions queued (LG throttle)",
    "mio_throttle": "too many shared memory instructions queued (MIO throttle)",
    "tex_throttle": "too many texture instructions queued",
    "math_pipe_throttle": "arithmetic units busy",
    "drain": "waiting for stores at the end",
    "wait": "waiting a fixed number of cycles",
    "no_instruction": "waiting for instructions to be fetched",
    "not_selected": "ready, but another warp was chosen",
    "imc_miss": "constant cache miss",
    "branch_resolving": "waiting for a branch",
    "dispatch_stall": "waiting for the dispatcher",
    "sleeping": "asleep",
}
METRICS = (
    *(DRAM_READ, DRAM_WRITTEN, TIME, HIT_RATE, OCCUPANCY),
    *(f"{_STALL_HEAD}{reason}{_STALL_TAIL}" for reason in STALLS),
)
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


@dataclass(frozen=True)
class Launch:
    """The name and the counters of one kernel launch (bytes, seconds, percent, warps per issue)."""

    name: str
    counters: Mapping[str, float]


class Stall(Record):
    """A reason why warps waited."""

    reason: str
    warps: float = Field(description="that waited so, on average, for each instruction issued")


class Profile(Record):
    """The counters of one call, all launches together, or the `problem` that hides them.

    The hit rate, the occupancy and the stalls are those of the longest launch.
    """

    problem: str = ""
    next_step: str = ""
    launches: int = 0
    seconds: float = Field(default=0.0, description="under Nsight Compute")
    needed: int = Field(default=0, description="least bytes that the call has to move")
    dram_read: float = Field(default=0.0, description="bytes")
    dram_written: float = Field(default=0.0, description="bytes")
    l2_hit_rate: float | None = Field(default=None, description="percent")
    occupancy: float | None = Field(default=None, description="percent, achieved")
    stalls: tuple[Stall, ...] = Field(default=(), description="the most frequent first")


def run(spec: Spec, kernel: bytes, gpu_memory: int | None = None) -> Profile:
    """Profile one call at a size far above the L2 cache; a machine without ncu is not an error."""
    with gpu_lock.exclusive_gpu():
        gpu = survey(gpu_memory)
        # Half of the memory of a batch: ncu keeps a copy of the memory that a launch overwrites.
        held = min(L2_MULTIPLE * gpu.l2, int(MEMORY_SHARE * gpu.free / 2))
        return profiled(spec, kernel, max(1, held // bytes_per_row(spec)))


def profiled(spec: Spec, kernel: bytes, rows: int, metrics: Sequence[str] = METRICS) -> Profile:
    ncu = toolkit.find("ncu")
    if ncu is None:
        return Profile(
            problem="Nsight Compute is not installed: there is no program `ncu`.",
            next_step="It comes with NVIDIA's CUDA toolkit; put its folder on PATH.",
        )
    with (
        fork_server.private_home() as home,
        tempfile.TemporaryDirectory(prefix="grader-report-") as reports,
    ):
        (home / "kernel.py").write_bytes(kernel)
        (home / "job.json").write_text(json.dumps(_job(spec, home / "kernel.py", rows)))
        log = Path(reports) / "counters.csv"
        done = fork_server.run_once(command(ncu, home / "job.json", log, metrics), home, LIMIT_S)
        output = log.read_text(errors="replace") if log.exists() else ""
    if done.status is None:
        return Profile(
            problem=f"Nsight Compute was stopped after {LIMIT_S:g} s.",
            next_step="Run `grader check`: is the kernel right?",
        )
    counted = digest(output, done.output, done.status)
    return counted.model_copy(update={"needed": sum(spec.least_bytes(sizes(spec, rows)))})


def command(ncu: Path, job: Path, log: Path, metrics: Sequence[str]) -> list[str]:
    # Clocks stay as they are, because a user may not set them.
    return [
        *(str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)),
        *("--clock-control", "none", "--profile-from-start", "off"),
        *("--target-processes", "application-only", "--metrics", ",".join(metrics)),
        *fork_server.program("grader.worker.profiled_calls", str(job)),
    ]


def sizes(spec: Spec, rows: int) -> dict[str, int]:
    job = _job(spec, Path(), rows)
    return {
        name: math.prod(described["shape"]) * ITEMSIZE[described["dtype"]]
        for name, described in zip(job["parameters"], job["arguments"], strict=True)
        if "shape" in described
    }


def _job(spec: Spec, kernel: Path, rows: int) -> dict[str, Any]:
    scored, _ = spec.timed
    few = 8 if scored.columns else 64
    one = arguments(spec, scored_case(spec, few), LargeDraw(scored_case(spec, few), "cpu", 0))
    described: list[dict[str, object]] = []
    for argument in spec.arguments:
        value = one[argument.name]
        if not isinstance(value, Tensor):
            described.append({"value": value})
            continue
        # A tensor with an extent of `few` grows with the rows; the output of a reduction does not.
        shape = [rows if n == few else n for n in value.shape[:1]] + list(value.shape[1:])
        described.append({"shape": shape, "dtype": NAMES[value.dtype]})
    return {
        "kernel": str(kernel),
        "entry": spec.entry,
        "parameters": [argument.name for argument in spec.arguments],
        "backend": str(backends.folder(spec.backend)),
        "arguments": described,
        "below": scored.columns or 1,  # for indices
    }


def digest(output: str, messages: str, status: int) -> Profile:
    if "ERR_NVGPUCTRPERM" in output + messages:
        return Profile(
            problem="This machine lets only administrators read the GPU's counters "
            "(ERR_NVGPUCTRPERM).",
            next_step="An administrator permits it with the driver's setting "
            "NVreg_RestrictProfilingToAdminUsers=0: put `options nvidia "
            "NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d and restart; a container "
            "needs the capability SYS_ADMIN besides.",
        )
    try:
        launched = launches(output)
    except GraderError as error:
        # An unknown unit must not cost the rest of a benchmark.
        return Profile(problem=error.message, next_step="Tell whoever runs the course.")
    if not all({DRAM_READ, DRAM_WRITTEN, TIME} <= launch.counters.keys() for launch in launched):
        return Profile(
            problem="Nsight Compute did not count the bytes read from and written to memory.",
            next_step="Does `ncu --query-metrics` list dram__bytes_read on this GPU?",
        )
    if not launched:
        lines = [line for line in (messages + "\n" + output).splitlines() if line.strip()]
        last = next((line for line in lines if "==ERROR==" in line), (lines or ["nothing"])[-1])
        return Profile(
            problem=f"Nsight Compute counted nothing (exit status {status}): {last[:300]}",
            next_step="Does the kernel pass `grader check`? Does `ncu --version` work?",
        )
    longest = max(launched, key=lambda launch: launch.counters.get(TIME, 0.0)).counters
    stalls = [
        Stall(reason=meaning, warps=longest[key])
        for reason, meaning in STALLS.items()
        if longest.get(key := f"{_STALL_HEAD}{reason}{_STALL_TAIL}", 0.0) > 0
    ]
    return Profile(
        launches=len(launched),
        seconds=_total(launched, TIME),
        dram_read=_total(launched, DRAM_READ),
        dram_written=_total(launched, DRAM_WRITTEN),
        l2_hit_rate=longest.get(HIT_RATE),
        occupancy=longest.get(OCCUPANCY),
        stalls=tuple(sorted(stalls, key=lambda stall: -stall.warps)[:TOP_STALLS]),
    )


def _total(launched: Sequence[Launch], metric: str) -> float:
    return sum(launch.counters[metric] for launch in launched)


def launches(output: str) -> list[Launch]:
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
        counters = {m: _number(*cells[m]) for m in METRICS if m in cells and cells[m][0]}
        known = {m: value for m, value in counters.items() if value is not None}
        launched.append(Launch(cells["Kernel Name"][0], known))
    return launched


def _number(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None  # `n/a` or `(!) nan`
    if not math.isfinite(value):
        return None
    if unit not in _UNITS:
        raise GraderError(f"Nsight Compute reports in {unit!r}, a unit that the grader lacks.")
    return value * _UNITS[unit]
