"""Judge each kernel twice on one machine, simulated and on its GPU: is the verdict the same?

    python bench/same_verdicts.py --out bench/results/same_verdicts_h200.json
    python bench/same_verdicts.py 04_online_softmax --devices cpu,cpu

The kernels are solutions, wrong kernels and the honest corpus. Speed is left aside: only a GPU has
it. A wrong kernel that says `On a GPU: may pass by luck` may pass there. The record is written
after every batch, and a run with the same --out goes on where it ended. A kernel whose file or
exercise has changed, or that could not be decided, begins again.

Exit code 1 when a verdict differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import honest
from host import machine

from grader.course import catalog
from grader.course.catalog import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.model.errors import GraderError, UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result

SEED = 1
BATCH = 6  # kernels a judge, which takes some 3 s to start
# Bytes of the GPU's memory for the memory step of a check, so that several fit on one GPU.
GPU_MEMORY = 4 << 30
REJECTS = (Outcome.FAIL, Outcome.NOT_STARTED, Outcome.ERROR)


@dataclass(frozen=True)
class Verdict:
    """`fate` is pass, rejected or undecided; with the step that decided it, and why."""

    fate: str
    step: str | None = None
    kind: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class Row:
    """One kernel. `fingerprint` is of its file and its exercise; `sum` is what `compared` says."""

    exercise: str
    kernel: str
    fingerprint: str
    simulated: Verdict
    gpu: Verdict
    sum: str


def verdict(result: Result) -> Verdict:
    """Return the verdict of the first step that did not pass, or else that of the check."""
    for step in result.steps:
        if step.outcome in (Outcome.PASS, Outcome.SKIP, Outcome.NOT_RUN):
            continue
        fate = "rejected" if step.outcome in REJECTS else "undecided"
        failure = step.failure
        return Verdict(
            fate, step.name, failure and failure.kind, failure.message if failure else step.summary
        )
    return Verdict("pass" if result.status is Status.PASS else "undecided")


def compared(simulated: Verdict, gpu: Verdict, may_be_lucky: bool) -> str:
    """Return same, by luck, undecided or different."""
    if "undecided" in (simulated.fate, gpu.fate):
        return "undecided"
    if simulated.fate == gpu.fate:
        return "same"
    return "by luck" if may_be_lucky and gpu.fate == "pass" else "different"


def kernels(root: Path, names: Sequence[str]) -> Iterator[tuple[Exercise, Path]]:
    chosen = [catalog.find(root, name) for name in names] or catalog.exercises(root)
    corpus = honest.corpus(root)
    for exercise in chosen:
        yield exercise, exercise.solution
        for path in sorted(exercise.solution.parent.glob("wrong_*.py")):
            yield exercise, path
        for one in corpus:
            if one.exercise == exercise and one.runs_on("cpu"):
                yield exercise, one.path


def fingerprint(exercise: Exercise, kernel: Path) -> str:
    files = [kernel, exercise.folder / "spec.py", exercise.tests]
    return hashlib.sha256(
        b"".join(file.read_bytes() for file in files if file.exists())
    ).hexdigest()


def is_settled(row: dict[str, Any] | None, exercise: Exercise, kernel: Path) -> bool:
    """Report whether a row of the record decides on this kernel as it is now."""
    return (
        row is not None
        and row["sum"] != "undecided"
        and row["fingerprint"] == fingerprint(exercise, kernel)
    )


def recorded(out: Path | None, devices: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of a record to go on with. Raises UsageError for one of other devices."""
    if out is None or not out.exists():
        return {}
    record = json.loads(out.read_text())
    if record["devices"] != list(devices):
        raise UsageError(
            f"{out.name} compares {' and '.join(record['devices'])}.",
            "Name another file with --out, or these devices with --devices.",
        )
    return {row["kernel"]: row for row in record["kernels"]}


def judged(due: Sequence[tuple[Exercise, Path]], devices: Sequence[str], root: Path) -> list[Row]:
    """Judge the kernels of one batch on both devices, in one judge."""
    requests = [
        check.Request(
            exercise,
            kernel,
            Options(device=device, seed=SEED, speed=False, shrink=False, gpu_memory=GPU_MEMORY),
        )
        for exercise, kernel in due
        for device in devices
    ]
    verdicts = [verdict(result) for result in check.run(requests, lambda text: None)]
    return [
        Row(
            exercise=exercise.name,
            kernel=kernel.relative_to(root).as_posix(),
            fingerprint=fingerprint(exercise, kernel),
            simulated=simulated,
            gpu=gpu,
            sum=compared(simulated, gpu, catalog.needs_simulator(kernel)),
        )
        for (exercise, kernel), simulated, gpu in zip(
            due, verdicts[::2], verdicts[1::2], strict=True
        )
    ]


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="exercises; without any, all of them")
    options.add_argument("--devices", default="cpu,cuda", help="the two to compare")
    options.add_argument("--at-once", type=int, default=1, help="batches at a time (default: 1)")
    options.add_argument("--out", type=Path, help="write the record here; go on if it exists")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    devices = asked.devices.split(",")
    try:
        rows = recorded(out, devices)
        wanted = list(kernels(root, asked.names))
        due = [
            (exercise, kernel)
            for exercise, kernel in wanted
            if not is_settled(rows.get(kernel.relative_to(root).as_posix()), exercise, kernel)
        ]
        batches = [due[i : i + BATCH] for i in range(0, len(due), BATCH)]
        with ThreadPoolExecutor(asked.at_once) as pool:
            for done in pool.map(lambda batch: judged(batch, devices, root), batches):
                for row in done:
                    rows[row.kernel] = asdict(row)
                    print(f"{row.sum:<10} {row.kernel}", file=sys.stderr, flush=True)
                if out:
                    out.write_text(json.dumps(record(devices, rows), indent=2) + "\n")
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    listed = [rows[kernel.relative_to(root).as_posix()] for _, kernel in wanted]
    print("\n".join(table(listed)))
    return 1 if any(row["sum"] == "different" for row in listed) else 0


def record(devices: Sequence[str], rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    listed = [rows[name] for name in sorted(rows)]
    return {
        "benchmark": "same_verdicts",
        "devices": list(devices),
        "machine": machine(),
        "sums": dict(Counter(row["sum"] for row in listed)),
        "kernels": listed,
    }


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each verdict that is not the same, and the sums."""
    for row in rows:
        if row["sum"] != "same":
            told = [f"{where}: {words(row[where])}" for where in ("simulated", "gpu")]
            yield f"{row['sum']:<10} {row['kernel']}\n    " + "\n    ".join(told)
    sums = Counter(row["sum"] for row in rows)
    yield f"{len(rows)} kernels: " + ", ".join(f"{n} {what}" for what, n in sums.most_common())


def words(verdict: dict[str, Any]) -> str:
    return " ".join(str(value) for value in verdict.values() if value)


if __name__ == "__main__":
    sys.exit(main())
