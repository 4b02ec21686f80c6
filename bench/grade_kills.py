"""Kill a class run at random moments, go on with --resume, and see that nothing is lost or doubled.

    python bench/grade_kills.py --rounds 20 --out bench/results/grade_kills.json

Each round begins a class run, waits until some of the kernels are graded and up to LONGEST_S
seconds more, and kills one thing with SIGKILL: a worker, a judge, the command (with dask's
scheduler in it), its whole process tree, or a scheduler of its own. Where the run ended by that,
`--resume` goes on. Then every submission must be recorded exactly once, and what was on the disk
before must be what it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import classes
from clusters import own_cluster

from grader.course import catalog

ROOT = Path(__file__).parents[1]
TOY = ROOT / "tests/courses/toy"
KINDS = ("worker", "judge", "command", "tree", "scheduler")
STUDENTS = 8
LONGEST_S = 3.0
AT_START = 0.2  # the share of kills that come while workers and judges start
START_S = 10.0
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Round:
    """One kill: what and when, how much had been graded, and what was wrong afterwards."""

    kind: str
    after_s: float
    graded_before: int
    resumed: bool
    wrong: tuple[str, ...]


def kill_once(folder: Path, kind: str, draw: random.Random) -> Round:
    """Grade a class, kill, go on, and look at what there is."""
    (exercise,) = catalog.exercises(TOY)
    classes.make(folder, STUDENTS, [exercise], classes.solution)
    with ExitStack() as stack:
        where: list[str] = []
        scheduler = None
        if kind == "scheduler":
            address, scheduler, _ = stack.enter_context(own_cluster([""], each=2))
            where = ["--scheduler", address]
        run = started(folder, *where)
        began = time.monotonic()
        at_start = draw.random() < AT_START
        wait_for_results(run, folder, 0 if at_start else draw.randrange(1, STUDENTS))
        time.sleep(draw.uniform(0.1, START_S if at_start else LONGEST_S))
        after_s = time.monotonic() - began
        if scheduler is not None:
            scheduler.kill()
        else:
            kill(kind, run)
        kept = on_disk(folder)
        code = run.wait(PATIENCE_S)
    if code != 0:
        code = started(folder, "--resume").wait(PATIENCE_S)
        return Round(kind, round(after_s, 2), len(kept), True, wrong(folder, kept, code))
    return Round(kind, round(after_s, 2), len(kept), False, wrong(folder, kept, code))


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "grader.cli", "grade", str(folder / "submissions")]
    named = ["--roster", str(folder / "roster.csv"), "--out", str(folder / "results")]
    return subprocess.Popen(
        [*command, *named, *arguments],
        cwd=TOY,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_results(run: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while run.poll() is None and len(on_disk(folder)) < count and time.monotonic() < end:
        time.sleep(0.05)


def kill(kind: str, run: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to the command, to all below it too, or to one worker or judge."""
    below = descendants(run.pid)
    named = {"worker": "spawn_main", "judge": "grader.grading.judge"}
    if kind in named:
        doomed = [pid for pid, command in below.items() if named[kind] in command][:1]
    else:
        doomed = [run.pid, *below] if kind == "tree" else [run.pid]
    for pid in doomed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of all processes below one, by their numbers."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                commands[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
    found, latest = dict[int, str](), {pid}
    while latest:
        latest = {child for child, parent in parents.items() if parent in latest} - found.keys()
        found |= {child: commands.get(child, "") for child in latest}
    return found


def on_disk(folder: Path) -> dict[str, str]:
    """Return the digest of each result by its file's name."""
    files = (folder / "results/results").glob("*.json")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def wrong(folder: Path, kept: dict[str, str], code: int) -> tuple[str, ...]:
    """Name what is not as it must be at the end."""
    found, now = [], on_disk(folder)
    if code != 0:
        found.append(f"the exit code is {code}")
    if len(now) != STUDENTS:
        found.append(f"{len(now)} results for {STUDENTS} submissions")
    found += [f"graded twice: {name}" for name in kept if now.get(name) != kept[name]]
    record = json.loads((folder / "results/class.json").read_text())
    if not record["complete"]:
        found.append("the record is not complete")
    cells = [cell for row in record["rows"] for cell in row["cells"]]
    if [cell["standing"] for cell in cells] != ["graded"] * STUDENTS:
        found.append("a student is not graded")
    attempts = sorted((folder / "results/attempts").iterdir())
    lines = [line for path in attempts for line in path.read_text().splitlines()]
    if len(attempts) != STUDENTS or len(lines) != STUDENTS:
        found.append(f"{len(lines)} attempts in {len(attempts)} files")
    if leftover := [p.name for p in (folder / "results").rglob(".grader-*")]:
        found.append(f"half a file is left: {leftover[0]}")
    return tuple(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    draw = random.Random(chosen.seed)
    rounds = []
    for number in range(chosen.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(kill_once(Path(folder), KINDS[number % len(KINDS)], draw))
        print(f"{number + 1}: {rounds[-1]}", flush=True)
    record = {
        "rounds": len(rounds),
        "seed": chosen.seed,
        "submissions": STUDENTS,
        "ok": not any(one.wrong for one in rounds) and any(one.resumed for one in rounds),
        "kills": [asdict(one) for one in rounds],
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"{len(rounds)} kills, {sum(bool(one.wrong) for one in rounds)} with something wrong")
    return 0 if record["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
