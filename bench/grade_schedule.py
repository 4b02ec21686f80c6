"""Simulate the schedule of a class run over several GPUs, with measured seconds: no real run.

    python bench/grade_schedule.py --from grade_gpus.json --out grade_schedule.json

The code that gives lanes their work (grader/classroom/batch/schedule.py) decides here, too; the
clock is made up. Each job takes the seconds of a job that was measured on one GPU, drawn anew for
each. What machines do to each other is left out: cores, disks and the network are never short.
Without `--from`, the seconds are the options', and the record says so. `beside_real_runs` has the
rate of each real run in that file, and the simulated one of as many kernels on as many GPUs.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.classroom.batch.schedule import Job, Lane, Part, Schedule

GPUS = (1, 2, 4, 8)
LANES = 12  # of each GPU
START_S, CLOSE_S = 6.0, 0.7  # of a judge: to start with its workers, and to end


def simulate(
    gpus: int, units: int, first_s: Sequence[float], second_s: Sequence[float], seed: int
) -> dict[str, Any]:
    """Run the schedule to its end with a clock that jumps from one end of a job to the next."""
    draw = random.Random(seed)
    schedule = Schedule(f"unit{number}" for number in range(units))
    for gpu in range(gpus):
        for lane in range(LANES):
            schedule.arrived(Lane(f"lane{gpu}.{lane}", f"gpu{gpu}"))
    now, number, measuring_s = 0.0, 0, 0.0
    warm: set[str] = set()
    running: list[tuple[float, int, Job]] = []
    while not schedule.over:
        for job in schedule.due():
            if job.part is Part.CLOSE:
                takes = CLOSE_S
                warm.discard(job.lane.name)
            else:
                takes = draw.choice(first_s if job.part is Part.FIRST else second_s)
                measuring_s += takes * (job.part is Part.SECOND)
                takes += START_S * (job.lane.name not in warm)
                warm.add(job.lane.name)
            number += 1
            heapq.heappush(running, (now + takes, number, job))
        now, _, job = heapq.heappop(running)
        schedule.ended(job.lane.name, measure=job.part is Part.FIRST)
    return {
        "gpus": gpus,
        "kernels": units,
        "seconds": round(now, 1),
        "a_minute": round(60 * units / now, 1),
        "measuring": round(measuring_s / (now * gpus), 3),  # share of all GPUs' time
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--units", type=int, default=1200)
    parser.add_argument("--first-s", type=float, default=8.0)
    parser.add_argument("--second-s", type=float, default=5.0)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    parts: dict[str, list[float]] = {"first": [chosen.first_s], "second": [chosen.second_s]}
    solutions: list[dict[str, Any]] = []
    if chosen.source:
        runs = json.loads(chosen.source.read_text())["runs"]
        solutions = [run for run in runs if run["kernel"] == "solution"]
        on_one = [run for run in solutions if run["gpus"] == 1]
        parts = {name: [s for run in on_one for s in run["parts_s"][name]] for name in parts}

    def simulated(gpus: int, units: int) -> dict[str, Any]:
        return simulate(gpus, units, parts["first"], parts["second"], seed=31)

    rows = [simulated(gpus, chosen.units) for gpus in GPUS]
    record = {
        "simulation": "of the schedule alone, with the seconds of jobs on one GPU",
        "seconds_of": chosen.source.name if chosen.source else "the options: nothing was measured",
        "jobs": {name: len(some) for name, some in parts.items()},
        "lanes": LANES,
        "rows": rows,
        "beside_real_runs": [
            {"gpus": run["gpus"], "kernels": run["kernels"], "real_a_minute": run["a_minute"]}
            | {"simulated_a_minute": simulated(run["gpus"], run["kernels"])["a_minute"]}
            for run in solutions
        ],
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    for row in rows:
        print(f"{row['gpus']} GPUs: {row['a_minute']} a minute, {row['measuring']:.0%} measuring")
    return 0


if __name__ == "__main__":
    sys.exit(main())
