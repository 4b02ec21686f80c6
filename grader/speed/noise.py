"""Causes of a noisy measurement, in words: they are reported, and count against nobody."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.machine import gpu_lock, nvml
from grader.model import Memory, percent
from grader.speed import reserved_memory
from grader.speed.alternation import Samples
from grader.speed.bound import STEADY
from grader.speed.clock import Evidence, correction, overhead_growth, overhead_spread
from grader.speed.statistics import spread

# The judge's clock may contradict a worker's by DOUBTED while its own overhead varies by UNSTEADY
# of a batch. A quiet host shows up to 4 %; one with three busy processes on every core shows 40 %.
DOUBTED, UNSTEADY = 0.02, 0.08
# The overhead may have grown by this part of a batch since the kernel's start, while the judge's
# clock contradicts the worker. On H200s whose machine graded on others, too, it grew by at most
# 0.008 in 12 runs.
SHIFTED = 0.01
SLOW_MEMORY = 0.9  # of the highest memory clock, under load


def noise_cause(
    samples: Samples,
    before: float,
    after: float,
    others: Sequence[nvml.Process],
    steady: float = STEADY,
    leeway: float = 1.0,
    rate_name: str = "bandwidth",
) -> str | None:
    """Describe what disturbed a measurement, or return None.

    `steady`, `leeway` and `rate_name` are the bound's.
    """
    middle = statistics.median(samples.ceilings)
    wander = max(spread(samples.ceilings), abs(before / middle - 1), abs(after / middle - 1))
    hot = sorted({word for r in samples.readings for word in r.slowdowns if word.startswith("hot")})
    slow = [r for r in samples.readings if r.memory_mhz < SLOW_MEMORY * r.most_memory_mhz]
    if others:
        return gpu_lock.describe_others(others)
    if hot:
        return f"the GPU slowed itself down: {', '.join(hot)}"
    if slow:
        return f"the GPU's memory ran at {slow[0].memory_mhz:,} of {slow[0].most_memory_mhz:,} MHz"
    if wander > steady:
        return f"the GPU's own {rate_name} varied by {percent(wander)} during the measurement"
    if _clock_in_doubt(samples, leeway):
        varied = percent(overhead_spread(samples.evidence), 0)
        return (
            f"the overhead of the calls varied by {varied} of their time; other programs "
            "probably keep the processors busy"
        )
    return None


def _clock_in_doubt(samples: Samples, leeway: float) -> bool:
    """Report whether the judge's clock contradicts the worker's and may itself be off by more.

    Where other programs keep the processors busy, workers start late, and not equally late. Where
    that load began when the kernel was started, they all start late.
    """
    raised = correction(samples.evidence)
    doubted = raised > 1 + leeway * DOUBTED
    unsteady = doubted and overhead_spread(samples.evidence) > leeway * UNSTEADY
    shifted = raised > 1 and overhead_growth(samples.evidence) > leeway * SHIFTED
    return unsteady or shifted


def excess_memory(available: int, evidence: Evidence, watched: Memory | None) -> str | None:
    """Report memory held when a batch began, in words, if it exceeds what one call holds.

    The excess could be a smaller copy of the inputs that was made before the clock started.
    """
    if watched is None or watched.held_bytes is None:
        return None
    held = available - min(one.available for one in evidence.kernel)
    if held <= reserved_memory.allowance(watched.held_bytes):
        return None
    return (
        f"{held / 2**30:.1f} GiB of the GPU's memory were held before the calls, by the kernel or "
        f"by another program, where one call holds {watched.held_bytes / 2**30:.1f}"
    )
