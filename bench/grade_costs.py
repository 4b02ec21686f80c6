"""Print the tables of what a class run costs on GPUs, as docs/classroom.md has them.

    python bench/grade_costs.py bench/results/grade_gpus.json

The first is of the complete runs on one GPU. Seconds of the two parts of a check are medians; those
of an exercise are there if the run recorded them. Other kernels are compared beside one that is
compared, so that a kernel takes less of the GPU than both parts. The second is of runs on several
GPUs of one host, beside one of its GPUs.
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
HOSTS_HEAD = (
    "| H200s of | GPUs | kernels graded | s | kernels a minute | times one GPU |\n"
    "| --- | --- | --- | --- | --- | --- |\n"
)
HOSTS = {  # the keys of those graded with 8 workers for each GPU
    "four_h200s": "one host",
    "one_host_of_h200s": "a second",
    "two_h200s": "a third",
    "four_h200s_of_20": "a fourth",
}
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


def hosts_table(record: Mapping[str, Any]) -> str:
    """Return a row for each run with solutions on each of HOSTS, by its number of GPUs."""
    rows = [row for key, host in HOSTS.items() for row in _of_host(host, record[key]["runs"])]
    return HOSTS_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _of_host(host: str, every: Sequence[Run]) -> list[tuple[str, ...]]:
    solutions = (run for run in every if run["kernel"] == "solution")
    runs = sorted(solutions, key=lambda run: int(run["gpus"]))
    one = runs[0]["a_minute"]
    return [
        (
            host,
            f"{run['gpus']}",
            f"{run['kernels']} of {sum(run['cells'].values())}",
            f"{run['grading_s']:.0f}",
            f"{run['a_minute']:.1f}",
            f"{run['a_minute'] / one:.1f}",
        )
        for run in runs
    ]


def _whole(run: Run) -> tuple[str, ...]:
    numbers = ", ".join(name[:2] for name in sorted(run["speeds"]))
    what = f"{numbers} together, {run['kernels']} {KERNELS[run['kernel']]}"
    each = f"{run['grading_s'] / run['kernels']:.1f}"
    return what, *map(_median, map(run["parts_s"].get, PARTS)), each


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f}" if seconds else "–"


def main() -> int:
    record = json.loads(Path(sys.argv[1]).read_bytes())
    print(table(record), hosts_table(record), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
