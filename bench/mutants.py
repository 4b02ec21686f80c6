"""Every mutant of every solution, as `grader verify --mutants all` finds it, kept as one JSON.

    python bench/mutants.py --out bench/results/mutants_cpu.json
    python bench/mutants.py 01_vector_add --out bench/results/mutants_cpu.json

The exercises that are named replace their part of the file. Exits with 1 where something is not as
it must be.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader import course, verify
from grader.declared import KINDS
from grader.verify import Sample, Verified

ROOT = Path(__file__).parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="exercises; default: all")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    exercises = [course.find(ROOT, name) for name in asked.names] or course.exercises(ROOT)
    record: dict[str, Any] = {"benchmark": "mutants", "exercises": {}}
    if asked.out.exists():
        record = json.loads(asked.out.read_text())
    fine = True
    for exercise in exercises:
        found = verify.run([exercise], "cpu", lambda text: None, Sample(count=None))
        record["environment"] = found[0].result.environment.model_dump()
        record["exercises"][exercise.name] = tally(found)
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
        fine = fine and all(one.ok for one in found)
        print(exercise.name, *(f"{k} {v}" for k, v in tally(found).items() if k != "survivors"))
        for one in found:
            if not one.ok:
                print(f"  {one.kernel}: expected {one.expected}, actual {one.actual}\n{one.change}")
    return 0 if fine else 1


def tally(found: Sequence[Verified]) -> dict[str, Any]:
    """How many mutants there are, what became of them, and at which step they were rejected."""
    mutants = [one for one in found if one.kind == "mutant"]
    rejected = [one for one in mutants if one.ok]
    survivors = [one for one in mutants if not one.ok]
    return {
        "made": sum(one.kind in ("mutant", *KINDS) for one in found),
        "rejected": len(rejected),
        **{kind: sum(one.kind == kind for one in found) for kind in KINDS},
        "survived": len(survivors),
        "steps": dict(Counter(one.actual for one in rejected)),
        "survivors": [one.change for one in survivors],
    }


if __name__ == "__main__":
    sys.exit(main())
