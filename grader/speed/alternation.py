"""Batches of the learner's and the reference kernel in alternation, until the share is decided.

Drift affects both. One cycle is a batch of each, and gives one sample of the share.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from grader.machine import gpu_lock, nvml
from grader.sandbox import WorkerLink
from grader.speed.bound import Bound, Reference
from grader.speed.clock import (
    BatchTime,
    Evidence,
    correction,
    corrections_once,
    require_idle_gpu,
    time_batch,
)
from grader.speed.slots import Slots
from grader.speed.spot_checks import SlotContents
from grader.speed.statistics import INDIFFERENCE, MIN_CYCLES, decide, interval

MAX_CYCLES = 48
BUDGET_S = 3.0  # after which no further cycle begins, if the bound's `cycles` are done
NARROW = 0.003  # relative to the share: an interval this narrow needs no further cycle


@dataclass
class Samples:
    """The samples of the cycles so far.

    `work` is that of each batch of the kernel, in units of the bound; `ceilings` are such units per
    second.
    """

    evidence: Evidence
    shares: list[float] = field(default_factory=list)
    ceilings: list[float] = field(default_factory=list)
    readings: list[nvml.Reading] = field(default_factory=list)
    work: list[float] = field(default_factory=list)


def alternate(
    kernel: WorkerLink,
    reference: Reference,
    slots: Slots,
    contents: SlotContents,
    bound: Bound,
    gate: float,
    alone: Sequence[BatchTime],
) -> Samples:
    """Run cycles until the share is known to lie above or below the gate, or time is up.

    `alone` are the reference's batches before the kernel's process was started.
    """
    samples, began = Samples(Evidence(alone)), time.monotonic()
    while not _enough_cycles(samples, gate, began, bound.indifference, bound.cycles):
        reference.prepare()  # it rests while the judge writes the kernel's inputs
        timed = time_batch(kernel, slots)
        beside = time_reference_batch(reference, contents, kernel)
        ceiling = reference.rate(beside)
        batch_work = bound.work(slots) * slots.calls
        samples.evidence.kernel.append(timed)
        samples.work.append(batch_work)
        samples.evidence.beside.append(beside)
        samples.ceilings.append(ceiling)
        samples.shares.append(batch_work / timed.claimed_s / ceiling)
        reading = nvml.read(gpu_lock.uuid())
        samples.readings += [] if reading is None else [reading]
    return samples


def time_reference_batches(
    reference: Reference, contents: SlotContents, count: int
) -> list[BatchTime]:
    """Time `count` batches of the reference kernel while no process of the kernel's exists."""
    batches = []
    for _ in range(count):
        reference.prepare()
        batches.append(time_reference_batch(reference, contents))
    return batches


def time_reference_batch(
    reference: Reference, contents: SlotContents, kernel: WorkerLink | None = None
) -> BatchTime:
    """Time one batch of the reference kernel, which is prepared, on an idle GPU.

    The learner's worker is stopped meanwhile. The reference kernel has rested before, as the
    learner's does while its inputs are written. A process that has been idle starts slowly, and
    this loss of the reference kernel is subtracted from the learner's time.
    """
    if kernel is not None:
        kernel.stop()
    reference.rest()
    require_idle_gpu(kernel)
    return reference.time_batch(contents)


def at_one_speed(samples: Samples) -> Samples:
    """Scale the times of each cycle to the host's usual speed, which the reference's batch shows.

    A core may need half as long again while a neighbour of the machine uses its other half. In a
    cycle that slows the kernel and the reference alike.
    """
    seen = samples.evidence
    # A real batch's time and rate: the mean of two rates is not the rate of their mean time.
    usual_s = statistics.median_high(one.claimed_s for one in seen.beside)
    usual_rate = statistics.median_low(samples.ceilings)
    slow = [one.claimed_s / usual_s for one in seen.beside]
    evidence = Evidence(
        [_scaled(one, one.claimed_s / usual_s) for one in seen.alone],
        [_scaled(one, by) for one, by in zip(seen.kernel, slow, strict=True)],
        [_scaled(one, by) for one, by in zip(seen.beside, slow, strict=True)],
        paired=True,
    )
    return replace(samples, evidence=evidence, ceilings=[usual_rate] * len(samples.ceilings))


def _scaled(batch: BatchTime, slow: float) -> BatchTime:
    return replace(batch, window_s=batch.window_s / slow, claimed_s=batch.claimed_s / slow)


def cycle_by_cycle(
    samples: Samples, before: Iterable[float], after: Iterable[float]
) -> tuple[Samples, float, float]:
    """Return the samples at one speed, and the reference's quiet rates before and after the kernel.

    `before` and `after` are rates of single batches without the kernel. The best of them is
    compared with the best beside the kernel: those were on a quiet core. Other quantiles depend on
    how busy the core was at the time.

    A kernel that slows the reference in most cycles raises its usual share, but not that of its
    best batch and the reference's best. The smaller share counts: the rate of the reference is
    raised until it gives that share. Chance may give the reference alone a quiet moment. So the
    samples have this rate only as far as the second best batches confirm it, and the quiet rates
    have all of it: a large difference is noise.
    """
    even = at_one_speed(samples)
    usual, best, rate = even.ceilings[0], max(samples.ceilings), corrected_rate(even)
    shares = _best_shares(samples, even)
    confirmed, unslowed = max(usual, rate / max(shares)), max(usual, rate / shares[0])
    earlier, later = (unslowed * max(1.0, max(rates) / best) for rates in (before, after))
    return replace(even, ceilings=[confirmed] * len(even.ceilings)), earlier, later


def _best_shares(samples: Samples, even: Samples) -> list[float]:
    """Return the share that the best batches show, and that of the second best ones.

    Here single claims of the kernel's decide, so each is held to the judge's clock.
    """
    raised = corrections_once(even.evidence)
    batches = zip(samples.evidence.kernel, samples.work, raised, strict=True)
    kernel = sorted((work / (timed.claimed_s * by) for timed, work, by in batches), reverse=True)
    reference = sorted(samples.ceilings, reverse=True)
    return [one / other for one, other in zip(kernel[:2], reference[:2], strict=True)]


def corrected_rate(samples: Samples) -> float:
    """Return the work per second of the usual claim, lowered where the judge's clock demands it.

    Where batches differ in work, their times are scaled to the usual work.
    """
    usual = statistics.fmean(samples.work)
    pairs = zip(samples.evidence.kernel, samples.work, strict=True)
    seconds = statistics.median(timed.claimed_s * (usual / work) for timed, work in pairs)
    return usual / seconds / correction(samples.evidence)


def corrected_shares(samples: Samples, ceiling: float) -> list[float]:
    """Scale the samples so that their median is the share at the corrected rate.

    The ceiling is work per second. The samples only show how certain that share is. Its value comes
    from the usual claim and from the judge's clock: both may differ from the claim in the cycle
    with the median share.
    """
    share = corrected_rate(samples) / ceiling
    middle = statistics.median(samples.shares)
    return [share * (sample / middle) for sample in samples.shares]


def _enough_cycles(
    samples: Samples,
    gate: float,
    began: float,
    indifference: float = INDIFFERENCE,
    least: int = MIN_CYCLES,
) -> bool:
    done = len(samples.shares)
    if done < least:
        return False
    if done >= MAX_CYCLES or time.monotonic() - began > BUDGET_S:
        return True
    if correction(samples.evidence) > 1:  # more batches make the judge's clock more certain
        return False
    if decide(samples.shares, gate, indifference) is None:
        return False
    low, high = interval(samples.shares)
    return (high - low) / statistics.median(samples.shares) <= NARROW
