"""Compare the statistics by which a latency could notice that a kernel slows its reference.

    python bench/latency_quantiles.py bench/results/latency_cores_h100.json --out FILE

Each rule gets the same measurements, which `bench/latency_cores.py` makes up of recorded batches.
In the world `one core at a time` the cycles come from four long batches, and those before and after
from two others each: there a core is quiet for a while, and busy later. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from latency_cores import CYCLES, KERNELS, Kernel, Measured, Recorded, measured, summary

from grader.grading.steps.speed.measure import fair_ceiling
from grader.speed.alternation import Samples, at_one_speed, corrected_rate, cycle_by_cycle
from grader.speed.bounds.latency import BOUND
from grader.speed.noise import noise_cause

RUNS = 200
COMPARED = ("honest", "honest, waits for the GPU", "slows")  # how the names of kernels begin
FEW, OTHERS = 4, 2  # long batches in the world where a core changes its speed seldom
Ceiling = tuple[Samples, float, float]  # with the quiet rates before and after


def at_quantiles(*parts: float) -> Callable[[Measured], Ceiling]:
    """Compare these quantiles of the rates beside the kernel with those without it."""

    def rule(found: Measured) -> Ceiling:
        even, beside = at_one_speed(found.samples), found.samples.ceilings
        before, after = (
            even.ceilings[0]
            * max(1.0, *(_quantile(rates, part) / _quantile(beside, part) for part in parts))
            for rates in (found.before, found.after)
        )
        return even, before, after

    return rule


def equally_deep(found: Measured) -> Ceiling:
    """Compare the best of few batches with the one that is the best of so many on average."""
    even, beside = at_one_speed(found.samples), found.samples.ceilings
    before, after = (
        even.ceilings[0] * max(1.0, max(rates) / _quantile(beside, 1 - 1 / (len(rates) + 1)))
        for rates in (found.before, found.after)
    )
    return even, before, after


def graded(found: Measured) -> Ceiling:
    return cycle_by_cycle(found.samples, found.before, found.after)


def _quantile(rates: Sequence[float], part: float) -> float:
    ordered = sorted(rates)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


RULES: dict[str, Callable[[Measured], Ceiling]] = {
    "best": at_quantiles(1.0),
    "upper quartile": at_quantiles(0.75),
    "median": at_quantiles(0.5),
    "best, upper quartile and median": at_quantiles(1.0, 0.75, 0.5),
    "equally deep": equally_deep,
    "best, and the kernel's own best": graded,
}


def mixed(recorded: Recorded, draw: random.Random, kernel: Kernel) -> Measured:
    return measured(recorded, draw, CYCLES, kernel)


def one_core_at_a_time(recorded: Recorded, draw: random.Random, kernel: Kernel) -> Measured:
    few, before, after = (
        replace(recorded, traces=draw.sample(recorded.traces, count))
        for count in (FEW, OTHERS, OTHERS)
    )
    return measured(few, draw, CYCLES, kernel, before, after)


WORLDS = {"mixed": mixed, "one core at a time": one_core_at_a_time}


def compared(recorded: Recorded, runs: int) -> Iterator[dict[str, Any]]:
    for world, made in WORLDS.items():
        for name, kernel in KERNELS.items():
            if not name.startswith(COMPARED):
                continue
            draw = random.Random(CYCLES)
            measurements = [made(recorded, draw, kernel) for _ in range(runs)]
            for rule, ceiling in RULES.items():
                found = [_graded(ceiling(one)) for one in measurements]
                yield {"world": world, "kernel": name, "rule": rule} | summary(found)


def _graded(ceiling: Ceiling) -> tuple[float, str | None]:
    samples, before, after = ceiling
    rate = corrected_rate(samples)
    cause = noise_cause(samples, before, after, [], BOUND.steady, BOUND.leeway, BOUND.rate_name)
    return rate / fair_ceiling(samples.ceilings, before, after), cause


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("record", type=Path)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--out", type=Path)
    asked = options.parse_args(argv)
    recorded = Recorded.read(json.loads(asked.record.read_text(encoding="utf-8")))
    rows = []
    for row in compared(recorded, asked.runs):
        rows.append(row)
        print(f"  {row['world']:<19}{row['kernel']:<43}{row['rule']:<33}{_text(row)}", flush=True)
    if asked.out is not None:
        record = {"benchmark": "latency_quantiles", "batches": asked.record.name, "rows": rows}
        asked.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _text(row: Mapping[str, Any]) -> str:
    kept = [row["shares"][part] for part in ("0.025", "0.5", "0.975") if row["shares"]]
    shares = " ".join(f"{share:.3f}" for share in kept)
    return f"{100 * row['noisy'] / row['runs']:3.0f} % noisy {shares}"


if __name__ == "__main__":
    sys.exit(main())
