"""`grader verify --all`, with the speed of every solution, kept as one JSON.

    python bench/verify_on_gpu.py --out bench/results/verify_h200.json
    python bench/verify_on_gpu.py --device cpu 01_vector_add --out /tmp/verify_cpu.json

The first line is for a machine with a CUDA GPU that nobody else uses. The record is written after
each exercise, and a run with the same --out goes on where it ended. Exit code 0 means that every
kernel came out as it must and that every solution passes its gate with 5 % to spare; on the CPU
there is no gate to pass, and some exercises have none anywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kept import by_exercise

from grader.authoring import verify
from grader.authoring.calibrate import SPARE
from grader.authoring.verify import Verified
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.model.errors import GraderError
from grader.model.outcomes import Status
from grader.model.results import EntryResult, Result, Step


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="exercises; without any, all of them")
    options.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    options.add_argument("--out", type=Path, help="write the record here; go on if it exists")
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    try:
        exercises = [catalog.find(root, name) for name in asked.names] or catalog.exercises(root)
        record = by_exercise(
            *(exercises, lambda one: measured(one, asked.device), is_fine, out, asked.seconds)
        )
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    print("\n".join(table(record)))
    return 0 if record["ok"] else 1


def measured(exercise: Exercise, device: str) -> dict[str, Any]:
    """Verify one exercise; keep its solution's speed, and the seconds of each step."""
    began = time.monotonic()
    verified = verify.run([exercise], device, tell)
    finished = time.monotonic()
    results = [one.result for one in verified if one.kernel == "solution"]
    return {
        "benchmark": "verify_on_gpu",
        "device": device,
        "environment": environment(verified),
        "wall_s": {"verify": round(finished - began, 1)},
        "solutions": [row for result in results for row in solutions(result)],
        "kernels": [kernel(one) for one in verified],
    }


def is_fine(record: Mapping[str, Any]) -> bool:
    rows = (*record["solutions"], *record["kernels"])
    judged = {row["exercise"] for row in record["kernels"]}
    return judged == record["fingerprints"].keys() and all(row["ok"] for row in rows)


def solutions(result: Result) -> Iterator[dict[str, Any]]:
    """One row of a solution, or of each of its entries."""
    for one in result.entries or (result,):
        speed = next((step.speed for step in one.steps if step.speed), None)
        spare = None if speed is None else speed.share / speed.passing - 1
        gated = any(step.name == "speed" for step in one.steps) and not result.environment.simulated
        enough = not gated or (spare is not None and spare >= SPARE)
        entry = f":{one.entry}" if isinstance(one, EntryResult) else ""
        yield {
            "exercise": f"{result.exercise}{entry}",
            "ok": one.status is Status.PASS and enough,
            "status": one.status.value,
            "wall_s": round(sum(step.duration_s for step in one.steps), 2),
            "spare": None if spare is None else round(spare, 4),
            "speed": None if speed is None else speed.model_dump(),
            "steps_s": {step.name: step.duration_s for step in one.steps},
            "problem": problem(one.steps),
            "seed": result.seed,
        }


def kernel(one: Verified) -> dict[str, Any]:
    """One kernel of `grader verify`: what had to become of it, and what did."""
    return {
        "exercise": one.exercise,
        "kind": one.kind,
        "kernel": one.kernel,
        "expected": one.expected,
        "actual": one.actual,
        "ok": one.ok,
        "detail": one.detail,
        "device": one.result.environment.device,
        "duration_s": one.result.duration_s,
        "seed": one.result.seed,
    }


def problem(steps: Sequence[Step]) -> str | None:
    """The first thing that went wrong, in one line."""
    told = [f"{step.name}: {step.failure.message}" for step in steps if step.failure]
    return told[0] if told else None


def environment(verified: Sequence[Verified]) -> dict[str, Any]:
    """GPU, driver and versions. Some wrong kernels are only ever simulated: they do not count."""
    all_of_them = [one.result.environment for one in verified]
    on_gpu = [environment for environment in all_of_them if not environment.simulated]
    return (on_gpu or all_of_them)[0].model_dump()


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(record: dict[str, Any]) -> Iterator[str]:
    """What a person reads: the solutions, the kernels that came out wrong, the sum."""
    env = record["environment"]
    yield ", ".join(
        f"{name} {value}"
        for name, value in env.items()
        if name not in ("simulated", "grader") and value is not None
    )
    yield f"{'exercise':<24}{'status':<14}{'wall s':>7}{'GB/s':>8}{'ceiling':>9}{'share':>7}" + (
        f"{'gate':>6}{'great':>7}{'spare':>7}"
    )
    for row in record["solutions"]:
        speed, figures = row["speed"], ""
        if speed:
            figures = (
                f"{speed['bandwidth_gbps']:>8,.0f}{speed['ceiling_gbps']:>9,.0f}"
                f"{speed['share']:>7.3f}{speed['passing']:>6.2f}{speed['great']:>7.2f}"
                f"{row['spare']:>7.1%}"
            )
        mark = "" if row["ok"] else f"  NOT OK {row['problem'] or ''}"
        yield f"{row['exercise']:<24}{row['status']:<14}{row['wall_s']:>7.1f}{figures}{mark}"
    bad = [row for row in record["kernels"] if not row["ok"]]
    for row in bad:
        yield f"NOT OK {row['exercise']} {row['kernel']}: expected {row['expected']}, " + (
            f"got {row['actual']} ({row['detail']})"
        )
    count = len(record["kernels"])
    if record["left"]:
        yield f"not verified yet: {', '.join(record['left'])}; go on with the same --out"
    yield f"{count - len(bad)} of {count} kernels as they must be; " + (
        f"{record['wall_s']['verify']:.0f} s; {'OK' if record['ok'] else 'NOT OK'}"
    )


if __name__ == "__main__":
    sys.exit(main())
