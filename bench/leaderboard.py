"""How long `grader leaderboard build` takes for a class, and how large its pages are.

    python bench/leaderboard.py --out bench/results/leaderboard_cpu.json

Makes a course of 10 exercises and a class of 500 students with 20 signed attempts at each, 100,000
in all, as one file of lines for each student (or with --layout one file for each attempt, or one
file for all), then runs the real command a few times. The stages are timed once more in this
process. With --keep FOLDER the class and its board stay there, for a browser to be timed on.
A person runs this on a machine that does nothing else; no test depends on it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from host import machine

from grader.classroom import signing
from grader.classroom.attempts import Context
from grader.classroom.board import collect, course_key, people, publish, site
from grader.course import catalog, settings
from grader.model import attempts
from grader.model.attempts import Attempt
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Resources, Result, Speed, parse_result

HERE = Path(__file__).parent
COURSES = HERE.parent / "tests" / "courses"
PATTERN = parse_result((COURSES / "result.json").read_bytes())
EXERCISES = [f"{number:02}_double" for number in range(1, 11)]
# GB/s that a trusted kernel reaches; only their being different matters here.
GPUS = {"NVIDIA H200": 4200.0, "NVIDIA A100-SXM4-80GB": 1750.0, "NVIDIA L4": 265.0}
TERM = datetime(2026, 9, 1, 8, tzinfo=UTC)
LAYOUTS = ("student", "attempt", "class")


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--students", type=int, default=500)
    options.add_argument("--attempts", type=int, default=20, help="of each student and exercise")
    options.add_argument("--layout", choices=LAYOUTS, default="student")
    options.add_argument("--runs", type=int, default=3, help="of the command; the median counts")
    options.add_argument("--keep", type=Path, help="a new folder that stays")
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = options.parse_args(argv)
    with working_folder(asked.keep) as folder:
        made = Class(folder, asked.students, asked.attempts, asked.layout)
        print(f"making {asked.students * asked.attempts * len(EXERCISES):,} attempts", flush=True)
        made.make()
        load_before = os.getloadavg()
        runs = [made.build() for _ in range(asked.runs)]
        load_after = os.getloadavg()
        stages = made.stages()
        pages = sizes(made.board)
        inverted = inverted_pairs(made.board)
    largest = max(size for name, size in pages.items() if name.endswith(".html"))
    wall, processor = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"build: {wall:.1f} s, {processor:.1f} s of processors; medians of {len(runs)}")
    for stage, seconds in stages.items():
        print(f"  {stage}: {seconds:.2f} s")
    print(f"largest page: {largest:,} bytes; {len(pages):,} files, {sum(pages.values()):,} bytes")
    print(f"pairs of rows in which the lower one shows a higher share: {inverted}")
    record = {
        "benchmark": "leaderboard",
        "machine": machine() | {"load_before": load_before, "load_after": load_after},
        "students": asked.students,
        "exercises": len(EXERCISES),
        "attempts": asked.students * asked.attempts * len(EXERCISES),
        "layout": asked.layout,
        "bytes_read": made.size,
        "build_s": wall,
        "build_processor_s": processor,
        "runs_s": runs,
        "stages_s": stages,
        "inverted_pairs": inverted,
        "largest_page_bytes": largest,
        "largest_pages": sorted(pages.items(), key=lambda one: -one[1])[:12],
        "files": len(pages),
        "bytes_written": sum(pages.values()),
    }
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0


@contextmanager
def working_folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


class Class:
    """A course, its keys, and the attempts of a class, all in one folder."""

    def __init__(self, folder: Path, students: int, tries: int, layout: str) -> None:
        self.course = folder / "course"
        self.results = folder / "results"
        self.keys = folder / "keys"
        self.board = folder / "board"
        self.students, self.tries, self.layout = students, tries, layout
        self.size = 0

    def make(self) -> None:
        for name in EXERCISES:
            copied = self.course / "exercises" / name
            shutil.copytree(COURSES / "small" / "exercises" / "01_double", copied)
        (self.course / settings.FILE).write_text('name = "bench"\nversion = "1"\n')
        self.results.mkdir()
        self.grader("keys", "new", "--out", str(self.keys))
        with ProcessPoolExecutor() as pool:
            work = pool.map(
                written,
                range(self.students),
                [self.tries] * self.students,
                [(self.keys / "private.pem").read_bytes()] * self.students,
                [self.results] * self.students,
                [self.layout] * self.students,
                chunksize=8,
            )
            self.size = sum(work)

    def grader(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "grader.cli", *words],
            env=os.environ | {"GRADER_COURSE": str(self.course)},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(done.stderr)
        return done.stdout

    def build(self) -> tuple[float, float]:
        """Seconds of the whole command: on the clock, and of all its processes together."""
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        self.grader(
            *("leaderboard", "build", str(self.results), "--out", str(self.board)),
            *("--trust", str(self.keys / "public.pem")),
            *("--course-key", str(self.keys / "course.key")),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return time.monotonic() - began, spent

    def stages(self) -> dict[str, float]:
        """Seconds of each stage, in this process and its pool."""
        from grader.reports import board as pages

        gc.disable()  # as the command does
        key = signing.public_key(self.keys / "public.pem")
        own = settings.read(self.course)
        exercises = catalog.exercises(self.course)
        now = datetime.now(UTC)
        context = Context(
            course=own.name,
            version=own.version,
            timed={one.name: True for one in exercises},
            trusted={signing.fingerprint(key): key},
            now=now,
        )
        seconds: dict[str, float] = {}

        def timed(stage: str, work: Callable[[], Any]) -> Any:
            began = time.monotonic()
            done = work()
            seconds[stage] = time.monotonic() - began
            return done

        collected = timed("collect", lambda: collect.collect([self.results], context))
        assert not collected.problems, collected.problems[0]
        logins = {entry.student for entry in collected.entries}
        secret = course_key.course_key(self.keys / "course.key")
        named, _ = timed("people", lambda: people.named(logins, secret, {}))
        group = site.Class(site.tasks(exercises), collected.entries, named)
        made = timed("assemble", lambda: site.assemble(own, group, (), now))
        document = timed("board.json", lambda: publish.to_json(made))
        files = timed("pages", lambda: pages.pages(made))
        timed("write", lambda: publish.write(self.board, {publish.DOCUMENT: document, **files}))
        return seconds


def written(student: int, tries: int, pem: bytes, folder: Path, layout: str) -> int:
    """Write the attempts of one student; how many bytes they have."""
    private = signing.private_key(pem, "the key of this benchmark")
    made = list(tried(student, tries))
    runs = [made[first : first + len(EXERCISES)] for first in range(0, len(made), len(EXERCISES))]
    lines = [attempts.attempt_json(signing.sign(run, private)) + "\n" for run in runs]
    if layout == "student":
        (folder / f"{student:04}.jsonl").write_text("".join(lines))
    elif layout == "class":
        with (folder / "all.jsonl").open("a") as file:  # one write, and appended as a whole
            file.write("".join(lines))
    else:
        for number, line in enumerate(lines):
            (folder / f"{student:04}-{number:03}.json").write_text(line)
    return sum(map(len, lines))


def tried(student: int, tries: int) -> Iterator[Attempt]:
    """A student gets better from try to try, and now and then something goes wrong."""
    draw = random.Random(student)
    talent = draw.betavariate(4, 2)
    gpu = draw.choice(list(GPUS))
    for number, exercise in enumerate(EXERCISES):
        for attempt in range(tries):
            reached = 0.97 * talent * (1 - 0.8 ** (attempt + 1 + draw.random()))
            at = TERM + timedelta(days=7 * number, hours=8 * attempt, seconds=draw.random() * 9000)
            yield Attempt(
                id=attempts.new_id(),
                course="bench",
                version="1",
                student=f"student{student:04}@example.edu",
                submitted_at=at.isoformat(timespec="seconds"),
                result=graded(exercise, gpu, max(0.05, reached), at, draw),
            )


def graded(exercise: str, gpu: str, share: float, at: datetime, draw: random.Random) -> Result:
    """A whole result as a GPU machine makes it."""
    outcome, kind = Outcome.PASS, None
    luck = draw.random()
    if luck < 0.05:
        outcome, kind = Outcome.NOISY, "noisy"
    elif luck < 0.06:
        outcome, kind, share = Outcome.FAIL, "impossible", 1.4
    elif share < 0.8:
        outcome, kind = Outcome.FAIL, "too_slow"
    speed = measured(gpu, share, draw)
    failure = None
    if kind is not None:
        failure = Failure(kind=kind, message="right, but " * 3, expected="80 %", got="56 %")
    steps = [
        step.model_copy(
            update={
                "outcome": outcome,
                "summary": f"{speed.case}: {speed.bandwidth_gbps:,.0f} GB/s",
                "points": 3 if outcome is Outcome.PASS else 0,
                "failure": failure,
                "speed": speed,
            }
        )
        if step.name == "speed"
        else step
        for step in PATTERN.steps
    ]
    status = {Outcome.PASS: Status.PASS, Outcome.FAIL: Status.FAIL}.get(
        outcome, Status.CANNOT_GRADE
    )
    if draw.random() < 0.15:  # wrong: no step after correctness ran
        failure = Failure(kind="mismatch", message="element (0, 17) of out is 3.1, not 3.2")
        steps[1] = steps[1].model_copy(update={"outcome": Outcome.FAIL, "failure": failure})
        steps[2:] = [
            step.model_copy(
                update={"outcome": Outcome.NOT_RUN, "speed": None, "points": 0, "failure": None}
            )
            for step in steps[2:]
        ]
        status = Status.FAIL
    return PATTERN.model_copy(
        update={
            "exercise": exercise,
            "status": status,
            "points": sum(step.points for step in steps),
            "kernel": PATTERN.kernel.model_copy(update={"sha256": draw.randbytes(32).hex()}),
            "environment": PATTERN.environment.model_copy(
                update={"device": gpu, "simulated": False, "capability": "9.0"}
            ),
            "started_at": at.isoformat(),
            "steps": tuple(steps),
            "hardened": True,
        }
    )


def measured(gpu: str, share: float, draw: random.Random) -> Speed:
    share *= draw.gauss(1, 0.004)
    half = share * abs(draw.gauss(0.002, 0.001))
    bandwidth = share * GPUS[gpu]
    return Speed(
        case="536870912 float32",
        bytes_moved=2**32,
        time_ms=2**32 / bandwidth / 1e6,
        bandwidth_gbps=bandwidth,
        ceiling_gbps=GPUS[gpu],
        share=share,
        share_low=share - half,
        share_high=share + half,
        passing=0.8,
        great=0.9,
        goes=16,
        calls_per_go=4,
        first_call_s=0.6,
        latency_case="1024 float32",
        latency_us=8.3,
        explanation=(
            "Each element is read once and written once, which is the least that the task needs.",
            "So few warps fit on a multiprocessor that memory often has nothing to do.",
        ),
        resources=(
            Resources(
                kernel="double_kernel",
                registers=40,
                spills=0,
                shared_bytes=0,
                threads=128,
                launches=1,
                occupancy=0.75,
            ),
        ),
    )


def inverted_pairs(board: Path) -> dict[str, int]:
    """Pairs of ranked rows whose shown share, or measured share, rises down one of the tables."""
    site = json.loads((board / "board.json").read_bytes())
    tables = [
        [(row["share_low"], row["share"]) for row in one["rows"] if row["rank"] is not None]
        for one in site["boards"]
    ]
    tables.append([(s["mean_low"], s["mean"]) for s in site["standings"] if s["rank"] is not None])
    pairs = [pair for rows in tables for pair in combinations(rows, 2)]
    return {
        "shown": sum(below[0] > above[0] for above, below in pairs),
        "measured": sum(below[1] > above[1] for above, below in pairs),
    }


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of each file below a folder, by its name there."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


if __name__ == "__main__":
    sys.exit(main())
