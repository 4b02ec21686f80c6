"""The counts of the traffic step against what Nsight Compute counts, on this GPU.

    python bench/traffic_vs_counters.py --out bench/results/traffic_vs_counters_h200.json

For each exercise, one call of the model solution on arguments of at least 8 GB. Predicted are the
bytes that follow from the simulated counts; measured are the bytes that the GPU's memory read and
wrote (dram__bytes_read.sum, dram__bytes_write.sum).

The two can only agree where no read is answered by the L2 cache. Rows of 256 KiB see to that: a
GPU works on several hundred of them at a time, which is more than twice an L2 of 60 MB, so that a
row's second pass finds nothing of the first. What stays in L2 unwritten at the end is under 1 %.
Needs a CUDA GPU and `ncu`. Exit code 0 means that all agree within 2 %.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.machine.versions import environment
from grader.model.outcomes import Status
from grader.model.results import Result
from grader.speed import ncu, profile
from grader.speed.scored_case import bytes_per_row

ROOT = Path(__file__).parents[1]
NAMES = ("03_three_pass_softmax", "04_online_softmax", "06_cross_entropy")
LEAST_HELD = 8 * 10**9  # bytes of all arguments
TARGET = 0.02


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help=f"exercises; without any, {', '.join(NAMES)}")
    options.add_argument("--out", type=Path, help="write the record here")
    asked = options.parse_args(argv)
    os.chdir(ROOT)
    exercises = [catalog.find(ROOT, name) for name in asked.names or NAMES]
    requests = [
        Request(exercise, exercise.solution, Options(device="cpu")) for exercise in exercises
    ]
    results = check.run(requests, lambda text: print(text, file=sys.stderr))
    rows = [compared(*pair) for pair in zip(exercises, results, strict=True)]
    record = {
        "benchmark": "traffic_vs_counters",
        "ok": all(row["ok"] for row in rows),
        "target": TARGET,
        "why_no_cache_helps": "rows of 256 KiB, several hundred in flight: more than twice the L2",
        "scratch": "none of these kernels has any: all bytes are those of arguments",
        "environment": environment("cuda").model_dump(),
        "rows": rows,
    }
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    print("\n".join(table(record)))
    return 0 if record["ok"] else 1


def compared(exercise: Exercise, result: Result) -> dict[str, Any]:
    """One exercise: the bytes of one call, predicted and measured."""
    spec = exercise.spec
    if result.status is not Status.PASS:
        problem = f"the check ends as {result.status.value}"
        return {"exercise": exercise.name, "problem": problem, "ok": False}
    rows = -(-LEAST_HELD // bytes_per_row(spec))
    kernel = exercise.solution.read_bytes()
    found = profile.profiled(spec, kernel, rows, ncu.REQUIRED)  # one pass: nothing is redone
    sizes = profile.sizes(spec, rows)
    read, written = predicted(result, sizes)
    problem = found.problem or ("" if read and written else "the traffic step counted nothing")
    row: dict[str, Any] = {"exercise": exercise.name, "rows": rows, "problem": problem}
    if problem:
        return row | {"ok": False}
    measured = found.dram_read + found.dram_written
    off = measured / (read + written) - 1
    return row | {
        "held_bytes": sum(sizes.values()),
        "predicted": {"read": read, "written": written},
        "measured": {"read": found.dram_read, "written": found.dram_written},
        "off": off,
        "off_read": found.dram_read / read - 1,
        "off_written": found.dram_written / written - 1,
        "ok": abs(off) <= TARGET,
    }


def predicted(result: Result, sizes: Mapping[str, int]) -> tuple[float, float]:
    """Bytes read and written by the counts of the traffic step."""
    step = next(step for step in result.steps if step.name == "traffic")
    return (
        sum(one.reads * sizes[one.argument] for one in step.traffic),
        sum(one.writes * sizes[one.argument] for one in step.traffic),
    )


def table(record: Mapping[str, Any]) -> Iterator[str]:
    for row in record["rows"]:
        if row["problem"]:
            yield f"{row['exercise']:<24}{row['problem']}"
            continue
        read, written = (
            f"{row['predicted'][way] / 1e9:.3f} {row['measured'][way] / 1e9:.3f}"
            for way in ("read", "written")
        )
        yield (
            f"{row['exercise']:<24}GB read, counted and measured {read}, written {written}: "
            f"{row['off']:+.2%}"
        )
    yield f"within {record['target']:.0%}: {'ok' if record['ok'] else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
