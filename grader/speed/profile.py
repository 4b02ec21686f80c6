"""A short digest of Nsight Compute's counters for one call, where the machine allows it.

`grader.worker.profiled_calls` makes the call, in a process of its own below `ncu`. No verdict
depends on these numbers. `rows` are rows of the scored case (elements of it, if it is 1-D).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from torch import Tensor

from grader import backends
from grader.correctness import NAMES
from grader.machine import gpu_lock
from grader.model import ITEMSIZE, Record, Spec
from grader.sandbox import commands
from grader.speed import ncu
from grader.speed.ceilings import survey
from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, TIME, Launch, NotCounted, total
from grader.speed.scored_case import arguments, bytes_per_row, scored_case, usually_needed
from grader.speed.sizing import L2_MULTIPLE, MEMORY_SHARE

LIMIT_S = 180.0  # ncu runs each launch once for every group of counters
TOP_STALLS = 3

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
    with commands.private_home() as home:
        (home / "kernel.py").write_bytes(kernel)
        job = home / "job.json"
        job.write_text(json.dumps(_job(spec, home / "kernel.py", rows)))
        program = commands.program("grader.worker.profiled_calls", str(job))
        try:
            launched = ncu.count(program, home, metrics, LIMIT_S)
        except NotCounted as error:
            return Profile(problem=error.problem, next_step=error.next_step)
    needed = sum(spec.least_bytes(usually_needed(spec, sizes(spec, rows))))
    return digest(launched).model_copy(update={"needed": needed})


def sizes(spec: Spec, rows: int) -> dict[str, int]:
    job = _job(spec, Path(), rows)
    return {
        name: math.prod(described["shape"]) * ITEMSIZE[described["dtype"]]
        for name, described in zip(job["parameters"], job["arguments"], strict=True)
        if "shape" in described
    }


def _job(spec: Spec, kernel: Path, rows: int) -> dict[str, Any]:
    scored, _ = spec.timed
    few = 8 if scored.extents else 64
    one, more = (arguments(spec, scored_case(spec, n)) for n in (few, 2 * few))
    described: list[dict[str, object]] = []
    for argument in spec.arguments:
        value, other = one[argument.name], more[argument.name]
        if not isinstance(value, Tensor) or not isinstance(other, Tensor):
            described.append({"value": value})
            continue
        # The output of a reduction does not grow with the rows; a pool of pages has many for a row.
        ends = zip(value.shape[:1], other.shape[:1], strict=True)
        shape = [n + (m - n) * (rows - few) // few for n, m in ends] + list(value.shape[1:])
        described.append({"shape": shape, "dtype": NAMES[value.dtype]})
    return {
        "kernel": str(kernel),
        "entry": spec.entry,
        "parameters": [argument.name for argument in spec.arguments],
        "backend": str(backends.folder(spec.backend)),
        "arguments": described,
        "below": (1, *scored.extents)[-1],  # for indices
    }


def digest(launched: Sequence[Launch]) -> Profile:
    longest = max(launched, key=lambda launch: launch.counters[TIME]).counters
    stalls = [
        Stall(reason=meaning, warps=longest[key])
        for reason, meaning in STALLS.items()
        if longest.get(key := f"{_STALL_HEAD}{reason}{_STALL_TAIL}", 0.0) > 0
    ]
    return Profile(
        launches=len(launched),
        seconds=total(launched, TIME),
        dram_read=total(launched, DRAM_READ),
        dram_written=total(launched, DRAM_WRITTEN),
        l2_hit_rate=longest.get(HIT_RATE),
        occupancy=longest.get(OCCUPANCY),
        stalls=tuple(sorted(stalls, key=lambda stall: -stall.warps)[:TOP_STALLS]),
    )
