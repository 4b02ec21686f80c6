"""What `grader ci` adds to the checks that it runs, in seconds.

    python bench/ci_overhead.py --out bench/results/ci_overhead_cpu.json

In a copy of the course whose kernel files are the solutions, `grader check` and `grader ci` of the
same exercises run in turns, each a real command in a process of its own. `ci` runs as GitHub would
have it, on a student's repository, and writes every format that it can write there. Each process
stamps the clock around what it does in judges; what is left is start, planning and reports. The
seconds in judges are those of the checks themselves, and differ only as the drawn cases do.
A person runs this on a machine that does nothing else; no test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from host import machine

from grader import course

ROUNDS = 5
NAMES = ("p01_map", "01_vector_add", "02_dot_reduction", "05_swiglu")
FORMATS = ("result", "attempt", "junit", "gradescope", "prairielearn", "csv-long", "csv-wide")


@dataclass(frozen=True)
class Run:
    """One command; `outside_s` is what it did not spend in judges.

    `cpu_s` is what its own process computed, judges not included: a busy machine changes it little.
    """

    command: str
    exit_code: int
    total_s: float
    in_judges_s: float
    outside_s: float
    cpu_s: float


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
            for _ in range(asked.rounds)
            for name, arguments in commands.items()
        ]
    figures = summary(runs)
    print(json.dumps(figures, indent=2))
    if asked.out:
        record = {
            "benchmark": "ci_overhead",
            "machine": machine() | {"load_average_before": load},
            "device": asked.device,
            "exercises": list(asked.names),
            "reports": ["github", *FORMATS],
            **figures,
            "runs": [asdict(run) for run in runs],
        }
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(run.exit_code == 0 for run in runs) else 1


def solved(folder: Path, names: Sequence[str]) -> Path:
    """A copy of the course in which the kernel files are the solutions."""
    source = course.find_root(Path(__file__).parent)
    for shelf in (*course.SHELVES, "solutions"):
        shutil.copytree(source / shelf, folder / shelf)
    shutil.copy(source / "course.toml", folder)
    for name in names:
        exercise = course.find(folder, name)
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
    began = time.monotonic()
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
    total = time.monotonic() - began
    os.close(writer)
    with os.fdopen(reader) as stamps:
        in_judges, cpu = map(float, stamps.read().split() or ["nan", "nan"])
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    run = Run(name, done.returncode, total, in_judges, total - in_judges, cpu)
    print(f"{name:6} {total:7.2f} s, in judges {in_judges:7.2f} s", file=sys.stderr, flush=True)
    return run


def stamped(fd: int, arguments: Sequence[str]) -> int:
    """Run the command in this process; write its seconds in judges, and of computing, to `fd`."""
    from grader import check, cli

    seconds = 0.0
    real: Callable[..., Any] = check.run

    def run(*given: Any) -> Any:
        nonlocal seconds
        began = time.monotonic()
        try:
            return real(*given)
        finally:
            seconds += time.monotonic() - began

    check.run = run
    code = cli.main(arguments)
    with os.fdopen(fd, "w") as out:
        out.write(f"{seconds} {time.process_time()}")
    return code


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Medians for both commands, and what one adds to the other."""

    def median(command: str, what: str) -> float:
        return statistics.median(getattr(run, what) for run in runs if run.command == command)

    fields = ("total_s", "in_judges_s", "outside_s", "cpu_s")
    medians = {name: {f: round(median(name, f), 3) for f in fields} for name in ("check", "ci")}
    return {
        "medians": medians,
        "added_s": round(median("ci", "outside_s") - median("check", "outside_s"), 3),
        "added_cpu_s": round(median("ci", "cpu_s") - median("check", "cpu_s"), 3),
        "added_to_totals_s": round(median("ci", "total_s") - median("check", "total_s"), 3),
        "ratio": round(median("ci", "total_s") / median("check", "total_s"), 4),
    }


if __name__ == "__main__":
    sys.exit(main())
