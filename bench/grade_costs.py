"""Print the table of what a class run costs on one GPU, as docs/classroom.md has it.

    python bench/grade_costs.py bench/results/grade_gpus.json

It is of the complete runs on one GPU. Seconds of the two parts of a check are medians; those of an
exercise are there if the run recorded them. Other kernels are compared beside one that is compared,
so that a kernel takes less of the GPU than both parts.
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
    "| kernels | outputs compared, s | measured, s | seconds of the GPU a kernel |\n"
    "| --- | --- | --- | --- |\n"
)
KERNELS = {"solution": "solutions", "wrong_output": "wrong outputs"}
Run = Mapping[str, Any]


def on_one_gpu(record: Mapping[str, Any], kernel: str) -> Run:
    """Return the complete run on one GPU with such kernels, a function of bench/classes.py."""
    runs: Sequence[Run] = record["runs"]
    asked = 1, kernel, 0
    (run,) = (one for one in runs if (one["gpus"], one["kernel"], one["exit_code"]) == asked)
    return run


def table(record: Mapping[str, Any]) -> str:
    """Return a row for each exercise of the solutions, if it was recorded, and one for each run."""
    parts = on_one_gpu(record, "solution").get("parts_by_exercise", {})
    rows = [
        (f"{name}, {len(some['second'])} solutions", *map(_median, map(some.get, PARTS)), "")
        for name, some in sorted(parts.items())
    ]
    rows += [_whole(on_one_gpu(record, kernel)) for kernel in KERNELS]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _whole(run: Run) -> tuple[str, ...]:
    numbers = ", ".join(name[:2] for name in sorted(run["speeds"]))
    what = f"{numbers} together, {run['kernels']} {KERNELS[run['kernel']]}"
    each = f"{run['grading_s'] / run['kernels']:.1f}"
    return what, *map(_median, map(run["parts_s"].get, PARTS)), each


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f}" if seconds else "–"


def main() -> int:
    print(table(json.loads(Path(sys.argv[1]).read_bytes())), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
