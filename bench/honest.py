"""Judge the honest corpus with many seeds: none of its kernels may be rejected.

    python bench/honest.py
    python bench/honest.py --seeds 44 --out bench/results/honest_cpu.json
    python bench/honest.py --device cuda --out bench/results/honest_h200.json
    python bench/honest.py 04_online_softmax 05_swiglu/persistent

The corpus is tests/redteam/honest/EXERCISE/KERNEL.py: correct kernels of many structures. One that
needs a GPU, or a package that is not installed, says so in its head and is left out. Each other is
judged with the seeds 0 to N - 1 of its own, N being --seeds. The record is written after every
batch, and a run with the same --out goes on where it ended; a kernel whose file or exercise has
changed begins again. On the CPU as many batches run at a time as there are cores.

Exit code 1 when a kernel was rejected. Too slow for the gate is no rejection: that is a matter of
the card, and said in a column of its own. So is what the judge could not decide, such as a
measurement that something disturbed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader import backends
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.grading.plan import with_step
from grader.model.errors import GraderError, UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result
from grader.model.verdict import first_problem

CORPUS = Path("tests/redteam/honest")  # below the course
# Other courses, by the folder of the corpus that holds the kernels for them.
COURSES = {"": Path(), "cuda": Path("tests/courses/cuda")}
# Kernels a judge: an interruption loses no more than these, and on a GPU each takes long.
BATCH = {"cpu": 6, "cuda": 1}
GPU_ONLY = re.compile(r"^# GPU only: \S", re.MULTILINE)
NEEDS = re.compile(r"^# Needs: (\w+)$", re.MULTILINE)


def needs(path: Path) -> list[str]:
    """List the packages that a kernel file's lines `# Needs: PACKAGE` name."""
    return NEEDS.findall(path.read_text(encoding="utf-8"))


def installed(path: Path) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in needs(path))


@dataclass(frozen=True)
class Honest:
    """One kernel of the corpus."""

    exercise: Exercise
    path: Path
    folder: str = ""  # of COURSES

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.folder, self.exercise.name, self.path.stem)))

    @property
    def gpu_only(self) -> bool:
        """Report that no simulator can run it: its language has none, or `# GPU only:` says so."""
        backend = backends.find(self.exercise.any_spec.backend)
        return backend.can.dry_run or GPU_ONLY.search(self._text) is not None

    def runs_on(self, device: str) -> bool:
        """Report whether it can run here: a line `# Needs: PACKAGE` names what it imports."""
        return installed(self.path) and not (device == "cpu" and self.gpu_only)

    @property
    def _text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def fingerprint(self) -> str:
        """Of what a verdict depends on: the file, and the exercise's spec and tests."""
        files = (self.path, self.exercise.folder / "spec.py", self.exercise.tests)
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    def seed(self, number: int) -> int:
        """Each kernel has seeds of its own, so that many kernels try many cases."""
        return zlib.crc32(f"{self.name}/{number}".encode()) >> 1


@dataclass
class Tally:
    """What became of one kernel in its runs so far, those with the seeds 0 to `runs` - 1."""

    kernel: str
    fingerprint: str
    runs: int = 0
    seconds: float = 0.0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    too_slow: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.runs += 1
        self.seconds = round(self.seconds + result.duration_s, 3)
        fate = fate_of(result)
        if fate != "accepted":
            getattr(self, fate).append(described(result))


def fate_of(result: Result) -> str:
    """accepted, rejected, too_slow or undecided."""
    if result.status is Status.PASS:
        return "accepted"
    step = first_problem(result)
    measured = step is not None and step.name == "speed" and step.outcome is Outcome.FAIL
    if measured and step.failure is not None and step.failure.kind == "too_slow":
        return "too_slow"
    return "undecided" if result.status is Status.CANNOT_GRADE else "rejected"


def described(result: Result) -> dict[str, Any]:
    """Where a check ended that did not pass, and with which seed it can be repeated."""
    told: dict[str, Any] = {"seed": result.seed, "status": result.status.value}
    step = first_problem(result)
    if step is not None:
        told |= {"step": step.name, "summary": step.summary}
        if step.failure is not None:
            told |= step.failure.model_dump(include={"kind", "message", "expected", "got", "case"})
        if step.speed is not None:
            told |= {"share": step.speed.share, "passing": step.speed.passing}
    return told


def corpus(root: Path, names: Sequence[str] = ()) -> list[Honest]:
    """Every kernel of the corpus, or those of the named exercises and kernels, in order.

    Raises UsageError for a name that nothing has.
    """
    known = [
        Honest(exercise, path, folder)
        for folder, course in COURSES.items()
        for exercise in with_step(catalog.exercises(root / course), "speed")
        for path in sorted((root / CORPUS / folder / exercise.name).glob("*.py"))
    ]
    chosen = {one: {one.name, one.name.rpartition("/")[0]} & set(names) for one in known}
    for name in names:
        if not any(name in by for by in chosen.values()):
            raise UsageError(f"The corpus has no {name!r}.", f"See {root / CORPUS}.")
    return [one for one in known if not names or chosen[one]]


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="EXERCISE or EXERCISE/KERNEL; without, all")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--seeds", type=int, default=1, help="runs of each kernel (default: 1)")
    options.add_argument("--at-once", type=int, help="batches at a time (default: cores; GPU: 1)")
    options.add_argument("--out", type=Path, help="write the record here; go on if it exists")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    try:
        kernels = corpus(root, asked.names)
        skipped = [one for one in kernels if not one.runs_on(asked.device)]
        wanted = [one for one in kernels if one not in skipped]
        record = Record(asked.device, out)
        at_once = asked.at_once or (1 if asked.device == "cuda" else os.cpu_count() or 1)
        judge_all(wanted, asked.seeds, at_once, record)
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    tallies = [record.of(one) for one in wanted]
    print("\n".join(table(tallies, len(skipped))))
    return 1 if any(tally.rejected for tally in tallies) else 0


class Record:
    """The tallies of all runs so far, and the file that keeps them."""

    def __init__(self, device: str, out: Path | None) -> None:
        self.device, self._out = device, out
        self._tallies: dict[str, Tally] = {}
        self._environment: dict[str, Any] | None = None
        self._wall_s = 0.0
        self._since = time.monotonic()
        if out is not None and out.exists():
            self._go_on(json.loads(out.read_text(encoding="utf-8")), out)

    def _go_on(self, kept: dict[str, Any], out: Path) -> None:
        if kept["device"] != self.device:
            raise UsageError(
                f"{out} holds runs on {kept['device']}, and these are on {self.device}.",
                "Name another file with --out.",
            )
        self._tallies = {row["kernel"]: Tally(**row) for row in kept["kernels"]}
        self._environment, self._wall_s = kept["environment"], kept["wall_s"]

    def of(self, kernel: Honest) -> Tally:
        """The tally of a kernel: a new one when its file or its exercise is another by now."""
        kept, fingerprint = self._tallies.get(kernel.name), kernel.fingerprint
        if kept is None or kept.fingerprint != fingerprint:
            kept = self._tallies[kernel.name] = Tally(kernel.name, fingerprint)
        return kept

    def add(self, kernels: Sequence[Honest], results: Sequence[Result]) -> None:
        for kernel, result in zip(kernels, results, strict=True):
            self.of(kernel).add(result)
            self._environment = result.environment.model_dump()
        if self._out is not None:
            whole = self._out.with_suffix(".part")  # never half a record under its own name
            whole.write_text(json.dumps(self._told(), indent=2) + "\n", encoding="utf-8")
            whole.replace(self._out)

    def _told(self) -> dict[str, Any]:
        rows = sorted(self._tallies.values(), key=lambda tally: tally.kernel)
        return {
            "benchmark": "honest",
            "device": self.device,
            "environment": self._environment,
            "wall_s": round(self._wall_s + time.monotonic() - self._since, 1),
            "runs": sum(tally.runs for tally in rows),
            "rejected": sum(len(tally.rejected) for tally in rows),
            "kernels": [asdict(tally) for tally in rows],
        }


def judge_all(kernels: Sequence[Honest], seeds: int, at_once: int, record: Record) -> None:
    """Bring every kernel to `seeds` runs, in batches of BATCH kernels of one exercise and one seed.

    One judge serves a batch, so that its start, some 3 s, is shared.
    """
    exercises = list(dict.fromkeys(one.exercise for one in kernels))
    begun = {one: record.of(one).runs for one in kernels}
    batches, size = [], BATCH[record.device]
    for number in range(seeds):
        for exercise in exercises:
            due = [k for k in kernels if k.exercise == exercise and begun[k] <= number]
            batches += [(number, due[i : i + size]) for i in range(0, len(due), size)]

    def judged(batch: tuple[int, list[Honest]]) -> list[Result]:
        number, due = batch
        requests = [
            check.Request(
                one.exercise,
                one.path,
                Options(device=record.device, seed=one.seed(number), shrink=False),
            )
            for one in due
        ]
        return check.run(requests, lambda text: None)

    with ThreadPoolExecutor(at_once) as pool:
        done = pool.map(judged, batches)
        try:
            for (number, due), results in zip(batches, done, strict=True):
                record.add(due, results)
                bad = sum(fate_of(result) != "accepted" for result in results)
                print(
                    f"{due[0].exercise.name} seed {number}: {len(due)} kernels, {bad} not accepted",
                    file=sys.stderr,
                    flush=True,
                )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def table(tallies: Sequence[Tally], skipped: int) -> Iterator[str]:
    """What a person reads: one line for each kernel, and one for what went wrong with it."""
    columns = ("runs", "rejected", "too slow", "undecided", "s a run")
    yield f"{'kernel':<46}" + "".join(f"{column:>11}" for column in columns)
    for tally in tallies:
        yield (
            f"{tally.kernel:<46}{tally.runs:>11}{len(tally.rejected):>11}{len(tally.too_slow):>11}"
            f"{len(tally.undecided):>11}{tally.seconds / max(1, tally.runs):>11.1f}"
        )
        for one in (tally.rejected + tally.too_slow + tally.undecided)[:3]:
            yield "    " + ", ".join(f"{key} {value}" for key, value in one.items() if value)
    runs, rejected = sum(t.runs for t in tallies), sum(len(t.rejected) for t in tallies)
    yield f"{len(tallies)} kernels, {runs} runs, {rejected} rejected" + (
        f"; {skipped} that need a GPU or a package were left out" if skipped else ""
    )


if __name__ == "__main__":
    sys.exit(main())
