"""Replay shares of a latency from batches that an H100 ran, and compare them with the true share.

    python bench/latency_cores.py bench/results/latency_cores_h100.json

The record has batches of single launches by many workers: where each ran, what a call took, what a
loop of plain Python took just afterwards, and the judge's window. Of the long ones it has the time
of each sixteen calls, which shows how the speed of one core changes within milliseconds. From these
the script makes up cycles of a kernel and a reference on one core, honest or lying about their
time. The functions that grade turn them into shares. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.grading.steps.speed.measure import fair_ceiling
from grader.speed.alternation import Samples, at_one_speed, corrected_shares, quiet_rate
from grader.speed.bounds.latency import BOUND, CALLS, CYCLES
from grader.speed.clock import MIN_CLAIM, BatchTime, Evidence
from grader.speed.noise import noise_cause

RUNS = 300
GAP_S = 0.02  # between the kernel's batch and the reference's, as a cautious guess
BEFORE, AFTER = 9, 5  # batches of the reference without the kernel
ALIKE = 0.12  # relative: calls that slow have the overhead that is drawn for a batch
BLOCK = 16  # calls, of the long batches in the record
LIES: dict[str, Callable[[int], float]] = {
    "honest": lambda cycle: 1.0,
    "claims 2 % less": lambda cycle: 0.98,
    "claims 10 % less": lambda cycle: 0.9,
    "claims half": lambda cycle: 0.5,
    "claims nothing": lambda cycle: 0.0,
}
QUANTILES = (0.01, 0.025, 0.5, 0.975, 0.99)


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


def grade(
    recorded: Recorded, draw: random.Random, cycles: int, lie: Callable[[int], float]
) -> tuple[float, str | None]:
    """Return the share of a kernel that is as fast as its reference, and the cause of noise."""

    def rate(batch: BatchTime) -> float:
        return CALLS / batch.claimed_s

    pairs = [recorded.pair(draw) for _ in range(cycles)]
    beside = [reference for _, reference in pairs]
    kernel = []
    for cycle, (made, _) in enumerate(pairs):
        claimed_s = max(lie(cycle) * made.claimed_s, MIN_CLAIM * made.window_s)
        kernel.append(BatchTime(made.window_s, claimed_s, 0))
    alone, later = ([recorded.pair(draw)[0] for _ in range(n)] for n in (BEFORE, AFTER))
    samples = Samples(
        Evidence(alone, kernel, beside),
        [rate(one) / rate(other) for one, other in zip(kernel, beside, strict=True)],
        [rate(one) for one in beside],
        work=[float(CALLS)] * cycles,
    )
    before, after = (quiet_rate(samples, map(rate, some)) for some in (alone, later))
    samples = at_one_speed(samples)
    shares = corrected_shares(samples, fair_ceiling(samples.ceilings, before, after))
    cause = noise_cause(samples, before, after, [], BOUND.steady, BOUND.leeway, BOUND.rate_name)
    return statistics.median(shares), cause


def replayed(recorded: Recorded, cycles: int, runs: int) -> Iterator[dict[str, Any]]:
    for name, lie in LIES.items():
        draw = random.Random(cycles)
        found = [grade(recorded, draw, cycles, lie) for _ in range(runs)]
        kept = sorted(share for share, cause in found if cause is None)
        at = [kept[min(len(kept) - 1, int(q * len(kept)))] for q in QUANTILES] if kept else []
        yield {
            "kernel": name,
            "cycles": cycles,
            "runs": runs,
            "noisy": runs - len(kept),
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
        print(f"  {row['kernel']:<18}{row['noisy']} of {row['runs']} noisy, {told}", flush=True)
    if asked.save:
        record["replayed"] = rows
        asked.record.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
