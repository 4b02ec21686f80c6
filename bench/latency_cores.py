"""Replay shares of a latency from batches that an H100 ran, and compare them with the true share.

    python bench/latency_cores.py bench/results/latency_cores_h100.json

The record has batches of single launches by many workers: where each ran, what a call took, what a
loop of plain Python took just afterwards, and the judge's window. Of the long ones it has the time
of each sixteen calls, which shows how the speed of one core changes within milliseconds. From these
the script makes up cycles of a kernel and a reference on one core. The kernel is honest, lies about
its time, or slows the reference. The functions that grade turn them into shares. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.grading.steps.speed.measure import fair_ceiling
from grader.speed.alternation import Samples, corrected_shares, cycle_by_cycle
from grader.speed.bounds.latency import BOUND, CALLS, CYCLES
from grader.speed.clock import MIN_CLAIM, BatchTime, Evidence
from grader.speed.noise import noise_cause

RUNS = 300
GAP_S = 0.02  # between the kernel's batch and the reference's, as a cautious guess
BEFORE, AFTER = 9, 5  # batches of the reference without the kernel
ALIKE = 0.12  # relative: calls that slow have the overhead that is drawn for a batch
BLOCK = 16  # calls, of the long batches in the record
QUANTILES = (0.01, 0.025, 0.5, 0.975, 0.99)


@dataclass(frozen=True)
class Kernel:
    """A kernel that is as fast as its reference, but for what it waits; and what it does.

    It claims `claims` of its time, and `claims_once` of that for the quickest of its batches. It
    makes the reference's batches longer by the part `slows`, but for `spares` of them, which follow
    its own quickest: then the core is quiet. A call waits for the GPU until `waits_s` are over.
    """

    claims: float = 1.0
    claims_once: float = 1.0
    slows: float = 0.0
    spares: int = 0
    waits_s: float = 0.0


HALF = CYCLES // 2
KERNELS = {
    "honest": Kernel(),
    "honest, waits for the GPU": Kernel(waits_s=50e-6),
    "claims 2 % less": Kernel(claims=0.98),
    "claims 10 % less": Kernel(claims=0.9),
    "claims half": Kernel(claims=0.5),
    "claims nothing": Kernel(claims=0.0),
    "slows all by 10 %": Kernel(slows=0.1),
    "slows all by 50 %": Kernel(slows=0.5),
    "slows all but one by 10 %": Kernel(slows=0.1, spares=1),
    "slows all but one by 50 %": Kernel(slows=0.5, spares=1),
    "slows half by 10 %": Kernel(slows=0.1, spares=HALF),
    "slows half by 50 %": Kernel(slows=0.5, spares=HALF),
    "slows all but one by 50 %, one claim less": Kernel(slows=0.5, spares=1, claims_once=1 / 1.5),
}


@dataclass(frozen=True)
class Recorded:
    """Long batches as the seconds of a call in each block of calls, and overheads of short ones.

    `overheads` are pairs: the seconds of a call in a batch, and of what the judge's clock shows
    beside the batch's calls.
    """

    traces: Sequence[Sequence[float]]
    overheads: Sequence[tuple[float, float]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Recorded:
        short = [row for row in record["batches"] if row["mode"] == "short"]
        return cls(
            [[us * 1e-6 for us in trace] for trace in record["traces_us"]],
            [
                (row["call_us"] * 1e-6, row["window_ms"] * 1e-3 - CALLS * row["call_us"] * 1e-6)
                for row in short
            ],
        )

    def pair(self, draw: random.Random) -> tuple[BatchTime, BatchTime]:
        """Draw two batches of the same calls on one core, GAP_S apart, in either order."""
        length = CALLS // BLOCK
        while True:
            trace = draw.choice(self.traces)
            first = draw.randrange(len(trace) - length)
            waited, second = 0.0, first + length
            while waited < GAP_S and second + length < len(trace):
                waited += BLOCK * trace[second]
                second += 1
            if waited >= GAP_S:
                break
        starts = [first, second]
        draw.shuffle(starts)
        one, other = (self._batch(draw, trace[at : at + length]) for at in starts)
        return one, other

    def _batch(self, draw: random.Random, calls_s: Sequence[float]) -> BatchTime:
        call_s = statistics.median(calls_s)
        near = [over for other, over in self.overheads if abs(math.log(other / call_s)) < ALIKE]
        over = draw.choice(near or [over for _, over in self.overheads])
        return BatchTime(CALLS * call_s + over, CALLS * call_s, 0)


@dataclass(frozen=True)
class Measured:
    """The cycles of a measurement, and the rates of the reference before and after them."""

    samples: Samples
    before: Sequence[float]
    after: Sequence[float]


def measured(
    recorded: Recorded,
    draw: random.Random,
    cycles: int,
    kernel: Kernel,
    before: Recorded | None = None,
    after: Recorded | None = None,
) -> Measured:
    """Make up the cycles of a kernel, and batches before and after it, perhaps of other records."""
    pairs = [recorded.pair(draw) for _ in range(cycles)]
    quickest = sorted(range(cycles), key=lambda cycle: pairs[cycle][0].claimed_s)
    for cycle, (own, reference) in enumerate(pairs):
        claims = kernel.claims * (kernel.claims_once if cycle == quickest[0] else 1.0)
        slows = 0.0 if cycle in quickest[: kernel.spares] else kernel.slows
        pairs[cycle] = _done(own, claims, kernel.waits_s), _slowed(reference, slows)
    alone, later = (
        [(other or recorded).pair(draw)[0] for _ in range(count)]
        for other, count in ((before, BEFORE), (after, AFTER))
    )
    own, beside = (list(batches) for batches in zip(*pairs, strict=True))
    samples = Samples(
        Evidence(alone, own, beside),
        [_rate(one) / _rate(other) for one, other in pairs],
        [_rate(one) for one in beside],
        work=[float(CALLS)] * cycles,
    )
    return Measured(samples, [_rate(one) for one in alone], [_rate(one) for one in later])


def _done(batch: BatchTime, claims: float, waits_s: float) -> BatchTime:
    waits_s = max(0.0, CALLS * waits_s - batch.claimed_s)
    window_s, took_s = batch.window_s + waits_s, batch.claimed_s + waits_s
    return BatchTime(window_s, max(claims * took_s, MIN_CLAIM * window_s), 0)


def _slowed(batch: BatchTime, by: float) -> BatchTime:
    more_s = by * batch.claimed_s
    return BatchTime(batch.window_s + more_s, batch.claimed_s + more_s, 0)


def _rate(batch: BatchTime) -> float:
    return CALLS / batch.claimed_s


def grade(
    recorded: Recorded, draw: random.Random, cycles: int, kernel: Kernel
) -> tuple[float, str | None]:
    """Return the share of a kernel, and the cause of noise."""
    found = measured(recorded, draw, cycles, kernel)
    samples, before, after = cycle_by_cycle(found.samples, found.before, found.after)
    shares = corrected_shares(samples, fair_ceiling(samples.ceilings, before, after))
    cause = noise_cause(samples, before, after, [], BOUND.steady, BOUND.leeway, BOUND.rate_name)
    return statistics.median(shares), cause


def replayed(recorded: Recorded, cycles: int, runs: int) -> Iterator[dict[str, Any]]:
    for name, kernel in KERNELS.items():
        draw = random.Random(cycles)
        found = [grade(recorded, draw, cycles, kernel) for _ in range(runs)]
        yield {"kernel": name, "cycles": cycles} | summary(found)


def summary(found: Sequence[tuple[float, str | None]]) -> dict[str, Any]:
    """Return the number of noisy measurements, and quantiles of the shares of the others."""
    kept = sorted(share for share, cause in found if cause is None)
    at = [kept[min(len(kept) - 1, int(q * len(kept)))] for q in QUANTILES] if kept else []
    return {
        "runs": len(found),
        "noisy": len(found) - len(kept),
        "shares": dict(zip(map(str, QUANTILES), (round(one, 4) for one in at), strict=False)),
    }


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("record", type=Path)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--save", action="store_true", help="write the figures into the record")
    asked = options.parse_args(argv)
    record = json.loads(asked.record.read_text(encoding="utf-8"))
    recorded = Recorded.read(record)
    rows = []
    for row in replayed(recorded, CYCLES, asked.runs):
        rows.append(row)
        low, high = (row["shares"].get(q) for q in ("0.025", "0.975"))
        told = "all noisy" if low is None else f"95 % of shares from {low:.3f} to {high:.3f}"
        print(f"  {row['kernel']:<43}{row['noisy']} of {row['runs']} noisy, {told}", flush=True)
    if asked.save:
        record["replayed"] = rows
        asked.record.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
