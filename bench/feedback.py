"""Seconds from a save to the verdict: a warm judge beside `grader check`, for each solution.

    python bench/feedback.py --out bench/results/feedback_cpu.json

In each round every exercise is checked by the command, as a process of its own, and then asked of
one judge that stays warm, so that both meet the same load of the machine. Each time the warm judge
gets another file: the solution with one more line at its top. So all of its kernels are compiled
anew, as after an edit, for the GPU that grades: only the command compiles them for others. A row
has the medians of all rounds. `within` says whether the warm median keeps the limit: 1.0 s for the
first puzzle and the first exercise, 2.5 s for p12 and 04, 5 s for all others, on 2 cores without a
GPU. `memory` holds what judge and workers' parents hold together after so many requests; a page
that several of them hold counts once. `quick_s` are `grader list` and `grader --help` in a course
of 60 exercises.
`load` is os.getloadavg() before and after: figures of a busy machine are too long, and their
ratios are not. `warm_cpu_s` are the seconds that judge and workers compute for one check: they
change less with the load.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from check_latency import descendants, proportional_bytes
from host import machine

from grader.course import Exercise, catalog
from grader.grading import Options, Request, WarmJudge, check

LIMITS_S = {"p01_map": 1.0, "01_vector_add": 1.0, "p12_dot": 2.5, "04_online_softmax": 2.5}
OTHER_LIMIT_S = 5.0
QUICK_EXERCISES = 60
QUICK_RUNS = 5
SEED = 7


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="exercises; without any, all of them")
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    os.chdir(root)
    exercises = [catalog.find(root, name) for name in asked.names] or catalog.exercises(root)
    before = os.getloadavg()
    quick = quick_commands(root)
    rows, memory = measured(exercises, asked.rounds, asked.device)
    for row in rows:
        print(
            f"{row['exercise']:<32}{row['cold_s']:>7.2f}{row['warm_s']:>7.2f} s"
            f"{'' if row['within'] else '  over ' + str(row['limit_s']) + ' s'}"
        )
    record = {
        "benchmark": "feedback",
        "machine": machine(),
        "load": {"before": before, "after": os.getloadavg()},
        "device": asked.device,
        "rounds": asked.rounds,
        "quick_s": quick,
        "memory": memory,
        "checks": rows,
    }
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row["status"] == "pass" for row in rows) else 1


def measured(
    exercises: Sequence[Exercise], rounds: int, device: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Check all exercises cold and warm; return a row for each, and the memory after each round."""
    cold: dict[str, list[float]] = {one.name: [] for one in exercises}
    warm: dict[str, list[float]] = {one.name: [] for one in exercises}
    computed: dict[str, list[float]] = {one.name: [] for one in exercises}
    statuses: dict[str, set[str]] = {one.name: set() for one in exercises}
    memory = []
    with tempfile.TemporaryDirectory(prefix="feedback-") as folder, WarmJudge() as judge:
        judge.start(request(exercises[0], exercises[0].solution, device))
        for number in range(rounds):
            for one in exercises:
                cold[one.name].append(cold_check(one, device))
                if number == 0:  # a loop opens an exercise before its file is saved
                    opened = request(one, one.solution, device)
                    check.run([opened], lambda text: None, judge=judge)
                saved = request(one, edited(one, number, Path(folder)), device)
                began, computed_before = time.monotonic(), cpu_seconds()
                (result,) = check.run([saved], lambda text: None, judge=judge)
                warm[one.name].append(time.monotonic() - began)
                computed[one.name].append(cpu_seconds() - computed_before)
                statuses[one.name].add(str(result.status))
            held = sum(map(proportional_bytes, descendants(os.getpid())))
            asked = (number + 2) * len(exercises)
            memory.append({"requests": asked, "mib": round(held / 2**20, 1)})
    rows = [
        row(name, cold[name], warm[name], statuses[name])
        | {"warm_cpu_s": round(statistics.median(computed[name]), 2)}
        for name in cold
    ]
    return rows, memory


def cpu_seconds() -> float:
    """Return the seconds that all processes below this one computed, with those that ended."""
    total = 0
    for process in descendants(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))  # its own, and that of children it waited for
    return total / os.sysconf("SC_CLK_TCK")


def edited(exercise: Exercise, number: int, folder: Path) -> Path:
    """Return the solution as it was saved for this round: every line of it has another number."""
    file = folder / exercise.solution.name
    text = exercise.solution.read_text(encoding="utf-8")
    file.write_text("# a line\n" * (number + 1) + text, encoding="utf-8")
    return file


def request(exercise: Exercise, kernel: Path, device: str) -> Request:
    """Return what the loop asks for at a save."""
    options = Options(device=device, seed=SEED, picture=True, elsewhere=False)
    return Request(Exercise(exercise.folder), kernel, options)


def row(
    name: str, cold: Sequence[float], warm: Sequence[float], statuses: set[str]
) -> dict[str, Any]:
    limit_s = LIMITS_S.get(name, OTHER_LIMIT_S)
    cold_s, warm_s = statistics.median(cold), statistics.median(warm)
    return {
        "exercise": name,
        "status": "pass" if statuses == {"pass"} else ", ".join(sorted(statuses)),
        "cold_s": round(cold_s, 3),
        "warm_s": round(warm_s, 3),
        "warm_to_cold": round(warm_s / cold_s, 3),
        "least_warm_s": round(min(warm), 3),
        "limit_s": limit_s,
        "within": warm_s <= limit_s,
    }


def cold_check(exercise: Exercise, device: str) -> float:
    """Return the seconds of `grader check NAME --solution`, which must pass."""
    options = ["--solution", "--seed", str(SEED), "--device", device]
    return seconds_of(["check", exercise.name, *options], os.environ)


def seconds_of(words: Sequence[str], variables: Mapping[str, str]) -> float:
    began = time.monotonic()
    command = [sys.executable, "-m", "grader.cli", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)
    return time.monotonic() - began


def quick_commands(root: Path) -> dict[str, Any]:
    """Return the median seconds of commands that must answer at once, in a large course."""
    with tempfile.TemporaryDirectory(prefix="feedback-") as folder:
        course = Path(folder)
        for shelf in catalog.SHELVES:
            shutil.copytree(root / shelf, course / shelf)
        added = QUICK_EXERCISES - len(catalog.exercises(course))
        for number in range(added):
            shutil.copytree(root / "puzzles" / "p01_map", course / "puzzles" / f"q{number:02}_map")
        variables = {**os.environ, "GRADER_COURSE": str(course)}
        seconds = {
            f"grader {word}": round(
                statistics.median(seconds_of([word], variables) for _ in range(QUICK_RUNS)), 3
            )
            for word in ("list", "--help")
        }
        return {"exercises": len(catalog.exercises(course)), **seconds}


if __name__ == "__main__":
    sys.exit(main())
