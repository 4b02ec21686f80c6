"""What disturbed a measurement of speed, in words: it is told, and counts against nobody."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.machine import gpu_lock, nvml
from grader.model import Memory, percent
from grader.speed import reserved_memory
from grader.speed.alternation import Samples
from grader.speed.clock import Evidence, correction, shift, unsteadiness
from grader.speed.statistics import spread

# How far a trusted kernel's bandwidth may wander, over the cycles or from before to after.
STEADY = 0.03
# By how much the judge's clock may contradict a worker's while it is itself unsteady: a quiet host
# shows up to 4 % of a go, one whose every core is taken three times over 40 %.
DOUBTED, UNSTEADY = 0.02, 0.08
# By how much of a go its overhead may have grown since the kernel was started, if the judge's clock
# contradicts the worker: on H200s whose machine graded on others, too, by 0.008 in 12 runs at most.
SHIFTED = 0.01
SLOW_MEMORY = 0.9  # of the highest memory clock, under load


def disturbance(
    samples: Samples, before: float, after: float, others: Sequence[nvml.Process]
) -> str | None:
    """What disturbed the measurement, in words; None where nothing did."""
    middle = statistics.median(samples.ceilings)
    wander = max(spread(samples.ceilings), abs(before / middle - 1), abs(after / middle - 1))
    hot = sorted({word for r in samples.readings for word in r.slowdowns if word.startswith("hot")})
    slow = [r for r in samples.readings if r.memory_mhz < SLOW_MEMORY * r.most_memory_mhz]
    if others:
        return gpu_lock.disturbance(others)
    if hot:
        return f"the GPU slowed itself down: {', '.join(hot)}"
    if slow:
        return f"the GPU's memory ran at {slow[0].memory_mhz:,} of {slow[0].most_memory_mhz:,} MHz"
    if wander > STEADY:
        return f"the GPU's own bandwidth wandered by {percent(wander)} during the measurement"
    if _clock_in_doubt(samples):
        beside = percent(unsteadiness(samples.evidence), 0)
        return (
            f"the time that goes by beside the calls wandered by {beside} of a go, as it does "
            "where other programs keep the processors busy"
        )
    return None


def _clock_in_doubt(samples: Samples) -> bool:
    """Whether the judge's clock says that the worker's is wrong, and may itself be wrong by more.

    Where other programs keep the processors busy, workers begin late, and not equally late;
    and where those began when the kernel had been started, all are.
    """
    seen = samples.evidence
    raised = correction(seen)
    unsteady = raised > 1 + DOUBTED and unsteadiness(seen) > UNSTEADY
    shifted = raised > 1 and shift(seen) > SHIFTED
    return unsteady or shifted


def hoarded(available: int, seen: Evidence, watched: Memory | None) -> str | None:
    """What was held when a go began, in words, if that is more than one call holds: in it could
    lie a copy of the inputs, in less room, that was made before the clock started."""
    if watched is None or watched.held_bytes is None:
        return None
    held = available - min(one.available for one in seen.kernel)
    if held <= reserved_memory.room(watched.held_bytes):
        return None
    return (
        f"{held / 2**30:.1f} GiB of the GPU's memory were held before the calls, by the kernel or "
        f"by another program, where one call holds {watched.held_bytes / 2**30:.1f}"
    )
