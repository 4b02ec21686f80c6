"""Print the table of what a class run costs on one GPU, as docs/classroom.md has it.

    python bench/grade_costs.py bench/results/grade_gpus_h100.json

It is of the run on one GPU in which all kernels were solutions. The seconds of an exercise's two
parts are medians; a dash stands for seconds that the run did not record. While outputs are compared
other kernels are compared beside them, so that a kernel takes less of the GPU than both parts.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PARTS = "first", "second"  # of a check on a GPU: what compares outputs, and what measures
HEAD = (
    "| exercise | kernels | outputs compared, s | measured, s | seconds of the GPU a kernel |\n"
    "| --- | --- | --- | --- | --- |\n"
)


def of_solutions(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the complete run on one GPU whose kernels are solutions."""
    (run,) = (
        run
        for run in record["runs"]
        if (run["gpus"], run["kernel"], run["exit_code"]) == (1, "solution", 0)
    )
    return run


def table(run: Mapping[str, Any]) -> str:
    """Return the rows of the exercises whose parts were recorded, and that of the whole run."""
    parts = run.get("parts_by_exercise", {})
    rows = [
        (name, len(some["second"]), _median(some["first"]), _median(some["second"]), "")
        for name, some in sorted(parts.items())
    ]
    # A record without parts by exercise has shares by exercise.
    names = ", ".join(name[:2] for name in sorted(parts or run["share_by_exercise"]))
    first, second = (_median([s for one in parts.values() for s in one[part]]) for part in PARTS)
    each = f"{run['grading_s'] / run['kernels']:.1f}"
    rows.append((f"{names} together", run["kernels"], first, second, each))
    return HEAD + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f}" if seconds else "–"


def main() -> int:
    print(table(of_solutions(json.loads(Path(sys.argv[1]).read_bytes()))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
