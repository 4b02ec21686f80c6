"""What `grader ci` adds to the checks that it runs, in seconds.

    python bench/ci_overhead.py --out bench/results/ci_overhead_cpu.json

In a copy of the course whose kernel files are the solutions, `grader check` and `grader ci` of the
same exercises run in turns, each a real command in a process of its own, and each first in every
other round. `ci` runs as GitHub would have it, on a student's repository, and writes every format
that it can write there. Both draw the same cases, from one seed, so that their checks are the same
and all that one takes longer is its own: `added_s` is the median, over the rounds, of what `ci`
took longer from start to end, starts of judges included. `added_outside_s` and `added_inside_s` are
the parts of it outside of judges (start, planning, reports) and in them. Seconds of computing, with
judges and workers, are told beside: other work on the machine changes them less.
A person runs this on a machine that does nothing else; no test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from host import machine

from grader.course import catalog

ROUNDS = 5
SEED = 6  # any: what is drawn must be the same for both
NAMES = (
    *("p01_map", "p02_zip", "p03_guard", "p04_map_2d", "p05_broadcast"),
    *("01_vector_add", "02_dot_reduction", "05_swiglu"),
)
FORMATS = ("result", "attempt", "junit", "gradescope", "prairielearn", "csv-long", "csv-wide")


@dataclass(frozen=True)
class Run:
    """One command; `outside_s` is what it did not spend in judges, of which it started `judges`.

    `own_cpu_s` is what its own process computed, `cpu_s` all that came of it, judges and workers.
    """

    command: str
    exit_code: int
    total_s: float
    in_judges_s: float
    outside_s: float
    own_cpu_s: float
    cpu_s: float
    judges: int


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", default=NAMES, help="exercises")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options.add_argument("--stamped", type=int, help=argparse.SUPPRESS)
    if argv is None and "--stamped" in sys.argv:
        at = sys.argv.index("--stamped")
        return stamped(int(sys.argv[at + 1]), sys.argv[at + 2 :])
    asked = options.parse_args(argv)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        root = solved(Path(scratch) / "course", asked.names)
        commands = commands_of(root, asked.names, asked.device)
        runs = [
            timed(name, arguments, root)
            for number in range(asked.rounds)
            for name, arguments in sorted(commands.items(), reverse=bool(number % 2))
        ]
    figures = summary(runs)
    print(json.dumps(figures, indent=2))
    if asked.out:
        record = {
            "benchmark": "ci_overhead",
            "machine": machine() | {"load_average_before": load},
            "device": asked.device,
            "exercises": list(asked.names),
            "seed": SEED,
            "reports": ["github", *FORMATS],
            **figures,
            "runs": [asdict(run) for run in runs],
        }
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(run.exit_code == 0 for run in runs) else 1


def solved(folder: Path, names: Sequence[str]) -> Path:
    """A copy of the course in which the kernel files are the solutions."""
    source = catalog.find_root(Path(__file__).parent)
    for shelf in (*catalog.SHELVES, "solutions"):
        shutil.copytree(source / shelf, folder / shelf)
    shutil.copy(source / "course.toml", folder)
    for name in names:
        exercise = catalog.find(folder, name)
        shutil.copy(exercise.solution, exercise.kernel)
    return folder


def commands_of(root: Path, names: Sequence[str], device: str) -> dict[str, list[str]]:
    student = Path(shutil.copytree(root, root.parent / "student"))
    (root.parent / "reports").mkdir()
    reports = [f"--report={name}={root.parent}/reports/{name}" for name in FORMATS]
    told = ["--submission", str(student), "--student", "ada", "--report=github", *reports]
    return {
        "check": ["check", *names, "--device", device],
        "ci": ["ci", *names, "--device", device, *told],
    }


def timed(name: str, arguments: Sequence[str], root: Path) -> Run:
    """One run of a command from outside."""
    reader, writer = os.pipe()
    environment: Mapping[str, str] = os.environ | {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(root.parent / "summary.md"),
    }
    (root.parent / "summary.md").unlink(missing_ok=True)
    began, computed = time.monotonic(), _computed()
    done = subprocess.run(
        [sys.executable, __file__, "--stamped", str(writer), *arguments],
        cwd=root,
        env=environment,
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    total, cpu = time.monotonic() - began, _computed() - computed
    os.close(writer)
    with os.fdopen(reader) as stamps:
        in_judges, own, judges = map(float, stamps.read().split() or ["nan", "nan", "0"])
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    outside = total - in_judges
    run = Run(name, done.returncode, total, in_judges, outside, own, cpu, int(judges))
    print(f"{name:6} {total:7.2f} s, in judges {in_judges:7.2f} s", file=sys.stderr, flush=True)
    return run


def _computed() -> float:
    """Seconds that processes which this one has waited for, and theirs, have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stamped(fd: int, arguments: Sequence[str]) -> int:
    """Run the command in this process with SEED; write to `fd` what it spent.

    That is its seconds in judges, its own of computing, and how many judges it started.
    """
    from grader import cli
    from grader.grading import check

    seconds, judges = 0.0, 0
    real: Callable[..., Any] = check.run

    def run(requests: Sequence[check.Request], *more: Any) -> Any:
        nonlocal seconds, judges
        judges += 1
        began = time.monotonic()
        try:
            return real([replace(request, seed=SEED) for request in requests], *more)
        finally:
            seconds += time.monotonic() - began

    check.run = run
    code = cli.main(arguments)
    with os.fdopen(fd, "w") as out:
        out.write(f"{seconds} {time.process_time()} {judges}")
    return code


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Medians for both commands, and of what one adds to the other in the same round."""

    def of(command: str, what: str) -> list[float]:
        return [getattr(run, what) for run in runs if run.command == command]

    def added(what: str) -> float:
        rounds = zip(of("ci", what), of("check", what), strict=True)
        return round(statistics.median(ci - check for ci, check in rounds), 3)

    fields = ("total_s", "in_judges_s", "outside_s", "own_cpu_s", "cpu_s")
    return {
        "medians": {
            name: {what: round(statistics.median(of(name, what)), 3) for what in fields}
            for name in ("check", "ci")
        },
        "added_s": added("total_s"),
        "added_outside_s": added("outside_s"),
        "added_inside_s": added("in_judges_s"),
        "added_own_cpu_s": added("own_cpu_s"),
        "added_cpu_s": added("cpu_s"),
    }


if __name__ == "__main__":
    sys.exit(main())
