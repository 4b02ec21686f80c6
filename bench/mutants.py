"""Every mutant of every solution, judged: how many of those that can be rejected are?

    python bench/mutants.py --out bench/results/mutants_cpu.json
    python bench/mutants.py 05_swiglu

A mutant is the solution with one small change (grader/authoring/mutants.py). Those that the
exercise declares in `survivors.toml` cannot be rejected, with a reason each; all others must be.
The record is written after each exercise, and a run with the same --out goes on where it ended.
Exit code 1 when one of them passes, when a declared one is rejected, or when an exercise is left.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kept import by_exercise

from grader.authoring import survivors, trials, verify
from grader.authoring.verify import Verified
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.model.errors import GraderError

KINDS = ("mutant", *survivors.KINDS)


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="exercises; without any, all of them")
    options.add_argument("--out", type=Path, help="write the record here; go on if it exists")
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    try:
        exercises = [catalog.find(root, name) for name in asked.names] or catalog.exercises(root)
        record = by_exercise(exercises, measured, is_fine, out, asked.seconds)
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    print("\n".join(table(record)))
    return 0 if record["ok"] else 1


def measured(exercise: Exercise) -> dict[str, Any]:
    began = time.monotonic()
    verified = verify.run([exercise], "cpu", tell, trials.Sample(None))
    return summed(verified) | {"wall_s": round(time.monotonic() - began, 1)}


def is_fine(record: Mapping[str, Any]) -> bool:
    return bool(record["exercises"]) and not record["not_ok"]


def summed(verified: Sequence[Verified]) -> dict[str, Any]:
    """Sum up one exercise, and list whatever did not come out as it must."""
    mutants = [one for one in verified if one.kind in KINDS]
    rows = []
    for name in sorted({one.exercise for one in mutants}):
        of_it = [one for one in mutants if one.exercise == name]
        kinds = Counter(one.kind for one in of_it)
        rejected = [one for one in of_it if one.kind == "mutant" and one.ok]
        rows.append(
            {
                "exercise": name,
                "mutants": len(of_it),
                **{kind: kinds[kind] for kind in survivors.KINDS},
                "rejected": len(rejected),
                "survived": kinds["mutant"] - len(rejected),
                "steps": dict(Counter(one.actual for one in rejected).most_common()),
            }
        )
    failed = [one for one in verified if not one.ok]
    return {
        "benchmark": "mutants",
        "environment": verified[0].result.environment.model_dump(mode="json"),
        "exercises": rows,
        "not_ok": [
            {
                "exercise": one.exercise,
                "kernel": one.kernel,
                "kind": one.kind,
                "actual": one.actual,
                "detail": one.detail,
                "change": one.change,
            }
            for one in failed
        ],
    }


def table(record: dict[str, Any]) -> Iterator[str]:
    columns = ("mutants", *survivors.KINDS, "rejected", "survived")
    yield f"{'exercise':<24}" + "".join(f"{column:>14}" for column in columns)
    for row in record["exercises"]:
        yield f"{row['exercise']:<24}" + "".join(f"{row[column]:>14}" for column in columns)
    for one in record["not_ok"]:
        yield f"{one['exercise']} {one['kernel']} ({one['kind']}): {one['actual']}. {one['detail']}"
        yield from (f"    {line}" for line in one["change"].splitlines())
    if record["left"]:
        yield f"not judged yet: {', '.join(record['left'])}; go on with the same --out"
    judged = "every mutant as it must be" if is_fine(record) else "FAILED"
    yield f"{judged}; {record['wall_s']:.0f} s"


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
