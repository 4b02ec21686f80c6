"""What Nsight Compute counts in one call of a kernel: a short digest, where the machine allows it.

The call is made by `grader.worker.profiled` in a process of its own, below `ncu`. Nothing is judged
by these numbers.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.sandbox import PASSED_ON
from grader.spec import Spec

LIMIT_S = 180.0  # ncu runs each launch once for every group of counters
TOP_STALLS = 3
DEFAULT_NCU = Path("/usr/local/cuda/bin/ncu")  # where NVIDIA's installer puts it

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
    "dispatch_stall": "the dispatcher held it back",
    "sleeping": "asleep",
}
METRICS = (
    *(DRAM_READ, DRAM_WRITTEN, TIME, HIT_RATE, OCCUPANCY),
    *(f"{_STALL_HEAD}{reason}{_STALL_TAIL}" for reason in STALLS),
)
# ncu prints numbers in units of its own choice unless told otherwise: `--print-units base`.
_UNITS = {"": 1.0, "byte": 1.0, "ns": 1e-9, "nsecond": 1e-9, "%": 1.0, "inst": 1.0}


@dataclass(frozen=True)
class Launch:
    """One kernel launch: its name and its counters (bytes, seconds, percent, warps per issue)."""

    name: str
    counters: Mapping[str, float]


@dataclass(frozen=True)
class Profile:
    """The digest of one call, of all its launches together, or in `problem` why there is none.

    DRAM traffic in bytes, `seconds` under ncu; the hit rate and the occupancy are percentages of
    the longest launch, as are `stalls`: reasons and warps that stall for them per issued
    instruction, the most frequent first.
    """

    problem: str = ""
    next_step: str = ""
    launches: int = 0
    seconds: float = 0.0
    dram_read: float = 0.0
    dram_written: float = 0.0
    l2_hit_rate: float | None = None
    occupancy: float | None = None
    stalls: tuple[tuple[str, float], ...] = ()


def find_ncu() -> Path | None:
    """Nsight Compute's command line, if it is installed."""
    found = shutil.which("ncu")
    if found is not None:
        return Path(found)
    return DEFAULT_NCU if DEFAULT_NCU.exists() else None


def run(spec: Spec, kernel: bytes) -> Profile:
    """Profile one call at a size far above the L2 cache; a machine without ncu is no error."""
    from grader.sizing import L2_MULTIPLE, MEMORY_SHARE
    from grader.slots import bytes_per_row
    from grader.timing import survey

    gpu = survey()
    # Half of the memory that a go may take: ncu keeps a copy of what a launch overwrites.
    held = min(L2_MULTIPLE * gpu.l2, int(MEMORY_SHARE * gpu.free / 2))
    return profiled(spec, kernel, max(1, held // bytes_per_row(spec)))


def profiled(spec: Spec, kernel: bytes, rows: int) -> Profile:
    """Profile one call of `rows` rows of the scored case (elements of it, if it is 1-D)."""
    ncu = find_ncu()
    if ncu is None:
        return Profile(
            problem="Nsight Compute is not installed: there is no program `ncu`.",
            next_step="It comes with NVIDIA's CUDA toolkit; put its folder on PATH.",
        )
    with tempfile.TemporaryDirectory(prefix="grader-profile-") as folder:
        home = Path(folder)
        (home / "kernel.py").write_bytes(kernel)
        job = home / "job.json"
        job.write_text(json.dumps(_job(spec, home / "kernel.py", rows)))
        status, output, said = _ran(command(ncu, job), home)
    if status is None:
        return Profile(
            problem=f"Nsight Compute was stopped after {LIMIT_S:g} s.",
            next_step="Is the kernel right? `grader check` tells.",
        )
    return digest(output, said, status)


def command(ncu: Path, job: Path) -> list[str]:
    """The command line. Clocks stay as they are, for a user may not set them."""
    return [
        *(str(ncu), "--csv", "--page", "raw", "--print-units", "base"),
        *("--clock-control", "none", "--profile-from-start", "off"),
        *("--target-processes", "application-only", "--metrics", ",".join(METRICS)),
        *(sys.executable, "-I", "-m", "grader.worker.profiled", str(job)),
    ]


def _job(spec: Spec, kernel: Path, rows: int) -> dict[str, object]:
    """What `grader.worker.profiled` needs to know: shapes and dtypes of the arguments, in order."""
    from torch import Tensor

    from grader.inputs import NAMES, LargeDraw
    from grader.slots import arguments, scored_case

    few = 8 if spec.scored.columns else 64
    one = arguments(spec, scored_case(spec, few), LargeDraw(scored_case(spec, few), "cpu", 0))
    described: list[dict[str, object]] = []
    for argument in spec.arguments:
        value = one[argument.name]
        if not isinstance(value, Tensor):
            described.append({"value": float(value)})
            continue
        # What has an extent of `few` grows with the rows; the answer of a reduction does not.
        shape = [rows if n == few else n for n in value.shape[:1]] + list(value.shape[1:])
        described.append({"shape": shape, "dtype": NAMES[value.dtype]})
    return {
        "kernel": str(kernel),
        "entry": spec.entry,
        "parameters": [argument.name for argument in spec.arguments],
        "backend": spec.backend,
        "arguments": described,
        "below": spec.scored.columns or 1,  # for indices
    }


def _ran(arguments: Sequence[str], home: Path) -> tuple[int | None, str, str]:
    """Exit status (None: out of time), standard output and standard error."""
    allowed = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {
        "HOME": str(home),
        "TMPDIR": str(home),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "NUMBA_CACHE_DIR": str(home / "numba"),
        "LC_ALL": "C.UTF-8",
    }
    process = subprocess.Popen(
        arguments,
        cwd=home,
        env=allowed,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, said = process.communicate(timeout=LIMIT_S)
        return process.returncode, output, said
    except subprocess.TimeoutExpired:
        return None, "", ""
    finally:
        # Also what the kernel file started, and on Ctrl-C: all in the session that began here.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def digest(output: str, said: str, status: int) -> Profile:
    """From what ncu printed, with its exit status, to the digest."""
    if "ERR_NVGPUCTRPERM" in output + said:
        return Profile(
            problem="This machine lets only administrators read the GPU's counters "
            "(ERR_NVGPUCTRPERM).",
            next_step="An administrator permits it with the driver's setting "
            "NVreg_RestrictProfilingToAdminUsers=0: put `options nvidia "
            "NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d and restart; a container "
            "needs the capability SYS_ADMIN besides.",
        )
    found = launches(output)
    if not found:
        lines = [line for line in (said + "\n" + output).splitlines() if line.strip()]
        last = next((line for line in lines if "==ERROR==" in line), (lines or ["nothing"])[-1])
        return Profile(
            problem=f"Nsight Compute counted nothing (exit status {status}): {last[:300]}",
            next_step="Does the kernel pass `grader check`? Does `ncu --version` answer?",
        )
    longest = max(found, key=lambda launch: launch.counters.get(TIME, 0.0)).counters
    stalls = [
        (meaning, longest[key])
        for reason, meaning in STALLS.items()
        if longest.get(key := f"{_STALL_HEAD}{reason}{_STALL_TAIL}", 0.0) > 0
    ]
    return Profile(
        launches=len(found),
        seconds=_total(found, TIME),
        dram_read=_total(found, DRAM_READ),
        dram_written=_total(found, DRAM_WRITTEN),
        l2_hit_rate=longest.get(HIT_RATE),
        occupancy=longest.get(OCCUPANCY),
        stalls=tuple(sorted(stalls, key=lambda stall: -stall[1])[:TOP_STALLS]),
    )


def _total(found: Sequence[Launch], metric: str) -> float:
    """Raises GraderError when a launch lacks the counter: a sum of some would mislead."""
    try:
        return sum(launch.counters[metric] for launch in found)
    except KeyError:
        raise GraderError(f"Nsight Compute did not report {metric}.") from None


def launches(output: str) -> list[Launch]:
    """The launches in `ncu --csv --page raw`: a line of names, one of units, one for each launch.

    Lines before the table are the program's own and ncu's messages, which begin with `==`.
    Raises GraderError for a unit that is not known.
    """
    lines = output.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    names, units, *rows = csv.reader(line for line in lines[start:] if line.startswith('"'))
    found = []
    for row in rows:
        cells = dict(zip(names, zip(row, units, strict=False), strict=False))
        if "Kernel Name" not in cells:
            continue
        counters = {m: _number(*cells[m]) for m in METRICS if m in cells and cells[m][0]}
        known = {m: value for m, value in counters.items() if value is not None}
        found.append(Launch(cells["Kernel Name"][0], known))
    return found


def _number(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None  # `n/a` or `(!) nan`
    if unit not in _UNITS:
        raise GraderError(f"Nsight Compute reports in {unit!r}, which is not known here.")
    return value * _UNITS[unit]
