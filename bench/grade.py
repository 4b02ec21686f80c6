"""Measure the kernels of a class that `grader grade` grades a minute, on cores or on GPUs.

    python bench/grade.py --students 200 --out bench/results/grade_cpu.json
    python bench/grade.py --students 20 --all --out bench/results/grade_all_cpu.json
    python bench/grade.py --scaling 1,2 --out bench/results/grade_scaling_cpu.json
    python bench/grade.py --gpu --runs 1x10:solution 2x40:solution 1x14:wrong_output --vanish 8

Each run is a real command on a made-up class: the solution and the wrong kernels of each exercise
in turns, each file another one by a comment. With `--gpu`, each of `--runs` names GPUs, students
and their kernels: solutions, which pass all steps, or kernels with wrong outputs, which fail before
anything is measured. `--alone` has the share of each solution beside those of the runs. `--vanish`
is a run on two GPUs whose workers on one are killed in the middle. Nobody else should use the
machine; no test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

import classes
from clusters import own_cluster
from host import machine

from grader.course import Exercise, catalog
from grader.grading import Options, check
from grader.machine import nvml
from grader.model import Result, parse_result

ROOT = Path(__file__).parents[1]
ALL, GPU_EXERCISES = "01,02,03,04,05,06", "01,04,06"
LANES = 12  # of each GPU, so that runs on several GPUs differ in nothing else
LIMIT_S = 7200.0
PATIENCE_S = 60.0  # for an interrupted run to write what it has


def grade(
    folder: Path, *arguments: str, limit_s: float = LIMIT_S, **variables: str
) -> dict[str, Any]:
    """Run the command on the class in `folder`, and describe the run.

    After `limit_s` seconds it is interrupted, as by Ctrl-C: its exit code is then 130.
    """
    out = folder / "results"
    began = time.monotonic()
    run = subprocess.Popen(
        [*command(folder, out), *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = run.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE_S)
    return described(out, time.monotonic() - began, run.returncode, said)


def command(folder: Path, out: Path) -> list[str]:
    names = [sys.executable, "-m", "grader.cli", "grade", str(folder / "submissions")]
    return [*names, "--roster", str(folder / "roster.csv"), "--out", str(out)]


def described(out: Path, seconds: float, code: int, said: str) -> dict[str, Any]:
    record = json.loads((out / "class.json").read_text())
    cells = [cell for row in record["rows"] for cell in row["cells"]]
    results = list(results_in(out))
    rate = re.search(r"kernels in ([\d.]+) s", said)
    inside = float(rate[1]) if rate else seconds
    return {
        "exit_code": code,
        "kernels": len(results),
        "seconds": round(seconds, 1),
        "grading_s": round(inside, 1),
        "a_minute": round(60 * len(results) / inside, 2),
        "cells": dict(Counter(cell["standing"] for cell in cells)),
        "statuses": dict(Counter(str(one.status) for one in results)),
        "check_s": round(statistics.median(one.duration_s for one in results), 2) if results else 0,
        "steps_s": steps_of(results),
        "parts_s": parts_of(out),
        "parts_by_exercise": {
            name: parts_of(out, name) for name in sorted({one.exercise for one in results})
        },
        "measured_at_once": measured_at_once(out),
        "speeds": {
            name: speeds_of([one for one in results if one.exercise == name])
            for name in sorted({one.exercise for one in results})
        },
        "said": said.splitlines()[-12:],
    }


def results_in(out: Path) -> Iterator[Result]:
    for path in sorted((out / "results").glob("*.json")):
        yield parse_result(json.dumps(json.loads(path.read_text())["result"]))


def parts_of(out: Path, exercise: str = r"\w+") -> dict[str, list[float]]:
    """Return the seconds of each first part that was followed by a second, and of each second."""
    text = "".join(path.read_text() for path in sorted((out / "logs").glob("*.log")))
    patterns = {
        "first": rf" {exercise} on .*, ([\d.]+) s: all outputs compared",
        "second": rf" {exercise}, measuring on .*, ([\d.]+) s: ",
    }
    return {name: [float(s) for s in re.findall(found, text)] for name, found in patterns.items()}


def measured_at_once(out: Path) -> int:
    """Return how many kernels were measured at the same moment, at most, by the logs.

    Ends are known to the second, so that of each measurement its first and last second are left
    out.
    """
    text = "".join(path.read_text() for path in sorted((out / "logs").glob("*.log")))
    turns: list[tuple[float, int]] = []
    for when, seconds in re.findall(r"^(\S+) .*, measuring on .*, ([\d.]+) s: ", text, re.M):
        end = datetime.fromisoformat(when).timestamp()
        if float(seconds) > 2:
            turns += [(end - float(seconds) + 1, 1), (end - 1, -1)]
    return max(accumulate(change for _, change in sorted(turns)), default=0)


def steps_of(results: Sequence[Result]) -> dict[str, float]:
    """Return the median seconds of each step that ran."""
    seconds: dict[str, list[float]] = {}
    for step in (step for one in results for step in one.steps if step.duration_s > 0):
        seconds.setdefault(step.name, []).append(step.duration_s)
    return {name: round(statistics.median(some), 3) for name, some in seconds.items()}


def speeds_of(results: Sequence[Result]) -> list[dict[str, float]]:
    """Return each share of the ceiling, and the factor by which the judge raised claimed times."""
    speeds = [step.speed for one in results for step in one.steps if step.speed is not None]
    return [{"share": round(one.share, 4), "raised": round(one.raised, 4)} for one in speeds]


# -- on GPUs


@dataclass(frozen=True)
class GpuRun:
    """A class of `students` that all hand in such a kernel, graded on `gpus` GPUs."""

    gpus: int
    students: int
    kernel: str  # a function of `classes`

    @staticmethod
    def read(text: str) -> GpuRun:
        """Read `2x40:solution`."""
        count, _, rest = text.partition("x")
        students, _, kernel = rest.partition(":")
        return GpuRun(int(count), int(students), kernel or "solution")


def on_gpus(chosen: argparse.Namespace, walls: Sequence[str]) -> dict[str, Any]:
    cards = nvml.visible(os.environ.get(nvml.VISIBLE))
    most = max([2 if chosen.vanish else 1, *(run.gpus for run in chosen.runs)])
    if len(cards) < most:
        sys.exit(f"These runs need {most} GPUs, and here are {len(cards)}.")
    record: dict[str, Any] = {"gpus": [card.name for card in cards], "runs": []}
    exercises = found(chosen.exercises or GPU_EXERCISES)
    names = ",".join(one.name for one in exercises)
    for run in chosen.runs:
        visible = {nvml.VISIBLE: ",".join(card.uuid for card in cards[: run.gpus])}
        jobs = ["--jobs", str(chosen.lanes * run.gpus)]
        with made(run.students, exercises, getattr(classes, run.kernel)) as folder:
            limit_s = chosen.limit
            one = grade(folder, *walls, *jobs, "--exercises", names, limit_s=limit_s, **visible)
        record["runs"].append(asdict(run) | {"lanes": chosen.lanes} | one)
        keep(chosen.out, record)
    if chosen.alone:
        record["alone"] = {one.name: alone(one, chosen.alone, not walls) for one in exercises}
        keep(chosen.out, record)
    if chosen.vanish:
        record["vanished"] = vanishing(exercises, chosen.vanish, walls, cards)
    return record


def alone(exercise: Exercise, times: int, hardened: bool) -> list[dict[str, float]]:
    """Return the shares of the solution, checked alone."""
    options = Options(device="cuda", hardened=hardened)
    request = check.Request(exercise, exercise.solution, options)
    return speeds_of(check.run([request] * times, lambda text: None))


def vanishing(
    exercises: Sequence[Exercise], students: int, walls: Sequence[str], cards: Sequence[nvml.Card]
) -> dict[str, Any]:
    """Grade on two GPUs with workers of our own, and kill those of one when half is done."""
    uuids = [card.uuid for card in cards[:2]]
    names, count = ",".join(one.name for one in exercises), students * len(exercises)
    with made(students, exercises, classes.solution) as folder, own_cluster(uuids) as cluster:
        address, _, workers = cluster
        out = folder / "results"
        began = time.monotonic()
        run = subprocess.Popen(
            [*command(folder, out), *walls, "--exercises", names, "--scheduler", address],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        while run.poll() is None and len(list((out / "results").glob("*.json"))) < count // 2:
            time.sleep(0.5)
        killed_at = len(list((out / "results").glob("*.json")))
        for worker in workers[cards[0].uuid]:
            worker.kill()
        _, said = run.communicate(timeout=LIMIT_S)
        one = described(out, time.monotonic() - began, run.returncode, said)
        return one | {"students": students, "killed_after": killed_at}


# -- on cores


def on_cores(chosen: argparse.Namespace, walls: Sequence[str]) -> dict[str, Any]:
    exercises = catalog.exercises(ROOT) if chosen.all else found(chosen.exercises or ALL)
    runs = []
    for jobs in chosen.scaling or [None]:
        with made(chosen.students, exercises, classes.honest_and_wrong) as folder:
            own = ["--jobs", str(jobs)] if jobs else []
            names = ",".join(one.name for one in exercises)
            one = grade(folder, *walls, *own, "--device", "cpu", "--exercises", names)
        del one["speeds"]
        runs.append({"jobs": jobs, "students": chosen.students, "exercises": len(exercises)} | one)
    return {"runs": runs}


@contextmanager
def made(students: int, exercises: Sequence[Exercise], choose: classes.Choose) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        classes.make(Path(folder), students, exercises, choose)
        yield Path(folder)


def found(names: str) -> list[Exercise]:
    return [catalog.find(ROOT, name) for name in names.split(",")]


def keep(out: Path | None, record: Mapping[str, Any]) -> None:
    if out is not None:
        out.write_text(json.dumps({"machine": machine()} | record, indent=2) + "\n")


GPU_RUNS = [GpuRun(1, 40, "solution"), GpuRun(1, 14, "wrong_output")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--runs", type=GpuRun.read, nargs="*", default=GPU_RUNS)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a run, on GPUs")
    parser.add_argument("--lanes", type=int, default=LANES, help="workers of each GPU")
    parser.add_argument("--alone", type=int, default=3, help="checks of each solution alone")
    parser.add_argument(
        "--vanish", type=int, default=0, help="students of the run that loses a GPU"
    )
    parser.add_argument("--students", type=int, default=10)
    parser.add_argument("--exercises")
    parser.add_argument("--all", action="store_true", help="the whole course")
    parser.add_argument("--scaling", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--not-hardened", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    walls = ["--not-hardened"] if chosen.not_hardened else []
    record = on_gpus(chosen, walls) if chosen.gpu else on_cores(chosen, walls)
    keep(chosen.out, record)
    for run in record["runs"]:
        print(f"{run['kernels']} kernels in {run['grading_s']} s: {run['a_minute']} a minute")
    return 0


if __name__ == "__main__":
    sys.exit(main())
