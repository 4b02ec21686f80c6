"""Goes of the learner's kernel and of a trusted one in alternation, until the share is told.

What drifts hits both. One cycle is a go of each, and gives one sample of the share.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.machine import gpu_lock, nvml
from grader.sandbox import WorkerLink
from grader.speed.ceilings import Yardstick
from grader.speed.clock import Evidence, Go, believed_s, correction, must_be_idle, right_go
from grader.speed.slots import Slots
from grader.speed.spot_checks import Filled
from grader.speed.statistics import decide, interval

LEAST_CYCLES = 10  # enough for an interval, and for a deviation to decide with
MOST_CYCLES = 48
BUDGET_S = 3.0  # after which no further cycle begins, if LEAST_CYCLES are done
NARROW = 0.003  # an interval this wide, relative to the share, needs no further cycle


@dataclass
class Samples:
    """What the cycles found so far."""

    evidence: Evidence
    shares: list[float] = field(default_factory=list)
    ceilings: list[float] = field(default_factory=list)  # bytes per second
    readings: list[nvml.Reading] = field(default_factory=list)


def alternate(
    kernel: WorkerLink,
    yardstick: Yardstick,
    slots: Slots,
    filled: Filled,
    gate: float,
    alone: Sequence[Go],
) -> Samples:
    """Cycles of a go each of kernel and ceiling, until the share is told from the gate."""
    samples, began = Samples(Evidence(alone)), time.monotonic()
    per_go = slots.least_bytes * slots.calls
    while not _enough(samples, gate, began):
        yardstick.get_ready()  # it rests while the kernel's inputs come
        gone = right_go(kernel, slots)
        beside = trusted_go(yardstick, filled, kernel)
        ceiling = yardstick.bandwidth(beside)
        samples.evidence.kernel.append(gone)
        samples.evidence.beside.append(beside)
        samples.ceilings.append(ceiling)
        samples.shares.append(per_go / gone.claimed_s / ceiling)
        reading = nvml.read(gpu_lock.uuid())
        samples.readings += [] if reading is None else [reading]
    return samples


def trusted_goes(yardstick: Yardstick, filled: Filled, count: int) -> list[Go]:
    """So many of the ceiling, while there is no process of the kernel's."""
    goes = []
    for _ in range(count):
        yardstick.get_ready()
        goes.append(trusted_go(yardstick, filled))
    return goes


def trusted_go(yardstick: Yardstick, filled: Filled, kernel: WorkerLink | None = None) -> Go:
    """One of the ceiling, which is ready, while nothing of the kernel's runs, nor does on the GPU.

    It has rested before, as the kernel does while its inputs come: who did is slow at first, and
    what the trusted one loses by that is taken off the other's time.
    """
    if kernel is not None:
        kernel.stop()
    yardstick.rest()
    must_be_idle(kernel)
    return yardstick.go(filled)


def believed_shares(samples: Samples, per_go: int, ceiling: float) -> list[float]:
    """The samples, moved together until their median is the share that the believed time makes.

    A go moves at least `per_go` bytes; the ceiling is in bytes per second. Samples tell how sure
    that share is, and not what it is: what a worker usually claims, and what the clock allows at
    least, need not be what it claims in the cycle that has the median share.
    """
    share = per_go / believed_s(samples.evidence) / ceiling
    middle = statistics.median(samples.shares)
    return [share * (sample / middle) for sample in samples.shares]


def _enough(samples: Samples, gate: float, began: float) -> bool:
    """Whether no further cycle is needed, or none is left to try."""
    done = len(samples.shares)
    if done < LEAST_CYCLES:
        return False
    if done >= MOST_CYCLES or time.monotonic() - began > BUDGET_S:
        return True
    if correction(samples.evidence) > 1:  # the more goes, the surer is the judge's clock
        return False
    if decide(samples.shares, gate) is None:
        return False
    low, high = interval(samples.shares)
    return (high - low) / statistics.median(samples.shares) <= NARROW
