"""Judge each kernel twice on one machine, simulated and on its GPU: is the verdict the same?

    python bench/same_verdicts.py --out bench/results/same_verdicts_h200.json
    python bench/same_verdicts.py 04_online_softmax --devices cpu,cpu

The kernels are solutions, wrong kernels and the honest corpus. Speed is left aside: only a GPU has
it. So is the memory step on the GPU, which only one check at a time can measure: kernels that
simulation rejects in this step are judged once more at the end, one by one. What honest ones hold
on a GPU, `bench/honest.py --device cuda` measures.

A wrong kernel that says `On a GPU: may pass by luck` may pass there. The record is written after
every batch, and a run with the same --out goes on where it ended. A kernel whose file or exercise
has changed, or that could not be decided, begins again.

Exit code 1 when a verdict differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import honest
from host import machine

from grader.course import catalog, wrong_kernels
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.grading.plan import points_of, skippable_steps
from grader.model.errors import GraderError, UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result
from grader.model.verdict import status_of

SEED = 1
BATCH = 6  # kernels a judge, which takes some 3 s to start
# Bytes of the GPU's memory for the memory step of a check, so that several fit on one GPU.
GPU_MEMORY = 4 << 30
MEASURED_ALONE = "memory"
Pair = tuple[Exercise, Path]  # the path is of a kernel
REJECTS = (Outcome.FAIL, Outcome.NOT_STARTED, Outcome.ERROR)


@dataclass(frozen=True)
class Verdict:
    """`fate` is pass, rejected or undecided; with the step that decided it, and why."""

    fate: str
    step: str | None = None
    kind: str | None = None
    message: str | None = None


NOT_YET = Verdict("undecided", MEASURED_ALONE, None, "to be measured alone")


@dataclass(frozen=True)
class Row:
    """One kernel. `fingerprint` is of its file and its exercise; `sum` is what `compared` says."""

    exercise: str
    kernel: str
    fingerprint: str
    simulated: Verdict
    gpu: Verdict
    sum: str


def verdict(result: Result, needed: Sequence[str], left_out: Collection[str] = ()) -> Verdict:
    """Return the verdict of the first step that did not pass, or else that of the check.

    `needed` are the steps of the exercise, of which all but those `left_out` count.
    """
    for step in result.steps:
        if step.outcome in (Outcome.PASS, Outcome.SKIP, Outcome.NOT_RUN):
            continue
        fate = "rejected" if step.outcome in REJECTS else "undecided"
        failure = step.failure
        return Verdict(
            fate, step.name, failure and failure.kind, failure.message if failure else step.summary
        )
    may_skip = skippable_steps().union(left_out)
    status = status_of(result.steps, needed, may_skip)
    passed = status is Status.PASS and result.status is not Status.INTERRUPTED
    return Verdict("pass" if passed else "undecided")


def compared(simulated: Verdict, gpu: Verdict, may_be_lucky: bool) -> str:
    """Return same, by luck, undecided or different."""
    if "undecided" in (simulated.fate, gpu.fate):
        return "undecided"
    if simulated.fate == gpu.fate:
        return "same"
    return "by luck" if may_be_lucky and gpu.fate == "pass" else "different"


def kernels(root: Path, names: Sequence[str]) -> Iterator[Pair]:
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
    """Report whether a row decides on this kernel as it is now, but for its memory on the GPU."""
    return (
        row is not None
        and (row["sum"] != "undecided" or row["gpu"] == asdict(NOT_YET))
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


def judged(
    due: Sequence[Pair], devices: Sequence[str], root: Path, *, alone: bool = False
) -> list[Row]:
    """Judge the kernels of one batch on both devices, in one judge.

    Unless `alone`, the step that needs the GPU for itself is left out there, and what simulation
    rejects in that step stays undecided.
    """
    requests = [
        check.Request(exercise, kernel, options(device, alone=alone))
        for exercise, kernel in due
        for device in devices
    ]
    verdicts = [
        verdict(result, points_of(request.exercise.any_spec), request.options.leave_out)
        for request, result in zip(requests, check.run(requests, lambda text: None), strict=True)
    ]
    return [
        row(exercise, kernel, root, simulated, NOT_YET if waits(simulated, gpu, alone) else gpu)
        for (exercise, kernel), simulated, gpu in zip(
            due, verdicts[::2], verdicts[1::2], strict=True
        )
    ]


def options(device: str, *, alone: bool) -> Options:
    left_out = ("speed",) if alone or device == "cpu" else ("speed", MEASURED_ALONE)
    return Options(
        device=device, seed=SEED, leave_out=left_out, shrink=False, gpu_memory=GPU_MEMORY
    )


def waits(simulated: Verdict, gpu: Verdict, alone: bool) -> bool:
    return not alone and simulated.step == MEASURED_ALONE and gpu.fate == "pass"


def row(exercise: Exercise, kernel: Path, root: Path, simulated: Verdict, gpu: Verdict) -> Row:
    return Row(
        exercise=exercise.name,
        kernel=kernel.relative_to(root).as_posix(),
        fingerprint=fingerprint(exercise, kernel),
        simulated=simulated,
        gpu=gpu,
        sum=compared(simulated, gpu, wrong_kernels.needs_simulator(kernel)),
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="exercises; without any, all of them")
    parser.add_argument("--devices", default="cpu,cuda", help="the two to compare")
    parser.add_argument("--at-once", type=int, default=1, help="batches at a time (default: 1)")
    parser.add_argument("--out", type=Path, help="write the record here; go on if it exists")
    asked = parser.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    devices = asked.devices.split(",")
    try:
        rows = recorded(out, devices)
        wanted = list(kernels(root, asked.names))
        for done in compare(wanted, rows, devices, root, asked.at_once):
            for one in done:
                rows[one.kernel] = asdict(one)
                print(f"{one.sum:<10} {one.kernel}", file=sys.stderr, flush=True)
            if out:
                out.write_text(json.dumps(record(devices, rows), indent=2) + "\n")
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    listed = [rows[kernel.relative_to(root).as_posix()] for _, kernel in wanted]
    print("\n".join(table(listed)))
    return 1 if any(one["sum"] == "different" for one in listed) else 0


def compare(
    wanted: Sequence[Pair],
    rows: Mapping[str, dict[str, Any]],
    devices: Sequence[str],
    root: Path,
    at_once: int,
) -> Iterator[list[Row]]:
    """Judge what `rows` do not settle. The caller adds to them what each batch yields."""
    names = [kernel.relative_to(root).as_posix() for _, kernel in wanted]
    due = [
        pair
        for pair, name in zip(wanted, names, strict=True)
        if not is_settled(rows.get(name), *pair)
    ]
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda batch: judged(batch, devices, root), batches(due))
    for pair, name in zip(wanted, names, strict=True):
        if rows[name]["gpu"] == asdict(NOT_YET):
            yield judged([pair], devices, root, alone=True)


def batches(due: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    return (due[start : start + BATCH] for start in range(0, len(due), BATCH))


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
    for one in rows:
        if one["sum"] != "same":
            verdicts = [f"{where}: {words(one[where])}" for where in ("simulated", "gpu")]
            yield f"{one['sum']:<10} {one['kernel']}\n    " + "\n    ".join(verdicts)
    sums = Counter(row["sum"] for row in rows)
    yield f"{len(rows)} kernels: " + ", ".join(f"{n} {what}" for what, n in sums.most_common())


def words(verdict: dict[str, Any]) -> str:
    return " ".join(str(value) for value in verdict.values() if value)


if __name__ == "__main__":
    sys.exit(main())
