"""Kill the loop at random moments, and see whether the learner's state is whole each time.

    python bench/loop_kills.py --rounds 50 --out bench/results/loop_kills.json

Each round starts `grader --plain`, saves kernels, asks for hints, resets and moves on, and sends
SIGKILL up to `LONGEST_S` seconds after the start or after the first verdict. What the loop had
printed must then be remembered. On a busy machine a round takes longer in proportion to its first
verdict: else each save would come before the verdict on the one before, and no pass be printed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.course import progress

ROOT = Path(__file__).parents[1]
NAMES = ("p01_map", "p02_zip", "p03_guard")
RESET = "p03_guard"  # the exercise that is reset; passes of the others stay
LONGEST_S = 4.0  # from the start of the loop, or from its first verdict
AT_START = 0.4  # the share of kills that come while the loop starts
PATIENCE_S = 90.0
VERDICT = re.compile(r"(PASS|FAIL|NOT STARTED|NO VERDICT)  ")
DWELL_S = 2.5  # the most seconds between two saves: a check takes some of them
FIRST_S = 4.0  # to the first verdict, beyond which rounds are longer; 2 are usual on two cores


@dataclass(frozen=True)
class Round:
    """One kill: after how many seconds, what had been printed by then, and what was lost."""

    after_s: float
    passes: tuple[str, ...]
    hints: int
    lost: tuple[str, ...]


def make_course(folder: Path) -> Path:
    """Copy three puzzles with their solutions, which stubs are made from."""
    for name in NAMES:
        for shelf in ("puzzles", "solutions"):
            shutil.copytree(ROOT / shelf / name, folder / shelf / name)
    return folder


def kill_once(course: Path, draw: random.Random) -> Round:
    """Start the loop, work in it, kill it, and compare what it printed with what it remembers."""
    before = progress.read(course)
    after_s, at_start = draw.uniform(0.3, LONGEST_S), draw.random() < AT_START
    loop = subprocess.Popen(
        [sys.executable, "-m", "grader.cli", "--plain"],
        cwd=course,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seed, began = draw.random(), time.monotonic()
    assert loop.stdout is not None
    assert loop.stdin is not None
    lines: list[str] = []
    reader = threading.Thread(target=lines.extend, args=(loop.stdout,), daemon=True)
    reader.start()
    end = time.monotonic() + PATIENCE_S
    while not at_start and time.monotonic() < end and not any(map(VERDICT.match, lines)):
        time.sleep(0.02)
    pace = 1.0 if at_start else max(1.0, (time.monotonic() - began) / FIRST_S)
    after_s *= pace
    worker = threading.Thread(target=_work, args=(course, loop, seed, pace), daemon=True)
    worker.start()
    time.sleep(after_s)
    loop.kill()
    loop.wait()
    reader.join()
    worker.join()
    printed = "".join(lines)
    loop.stdout.close()
    with suppress(BrokenPipeError):
        loop.stdin.close()
    passes = tuple(sorted(set(_passes(printed)) - {RESET}))
    lost = _lost(course, before, passes)
    return Round(round(after_s, 2), passes, printed.count("more hint"), lost)


def _work(course: Path, loop: subprocess.Popen[str], seed: float, pace: float) -> None:
    """Save kernels and type commands until the loop is gone; `pace` times the pauses."""
    draw = random.Random(seed)
    while loop.poll() is None and loop.stdin is not None:
        name = draw.choice(NAMES)
        kernel = course / "puzzles" / name / "kernel.py"
        source = draw.choice(["solutions", "puzzles"])
        try:
            loop.stdin.write(f"{name}\n")
            loop.stdin.flush()
            kernel.write_bytes((ROOT / source / name / "kernel.py").read_bytes())
            time.sleep(draw.uniform(0.05, DWELL_S) * pace)
            loop.stdin.write("h\nh\n" + ("x\ny\n" if name == RESET else ""))
            loop.stdin.flush()
        except OSError:
            return


def _passes(printed: str) -> list[str]:
    """Return the exercises whose pass was printed: that of the line `checking NAME` before it."""
    passed, name = [], ""
    for line in printed.splitlines():
        if found := re.match(r"checking (\w+) …", line):
            name = found[1]
        elif line.startswith("PASS  "):
            passed.append(name)
    return passed


def _lost(course: Path, before: progress.Progress, passes: tuple[str, ...]) -> tuple[str, ...]:
    """Name what is not as it must be after a kill."""
    now = progress.read(course)
    lost = [now.notice] if now.notice else []
    lost += [f"unreadable: {path.name}" for path in course.glob(".grader/*unreadable*")]
    for name in passes:
        if not progress.standing_of(now, name).passed:
            lost.append(f"the pass of {name}")
    for name in NAMES:
        old, new = progress.standing_of(before, name), progress.standing_of(now, name)
        if new.hints < old.hints:
            lost.append(f"hints of {name}")
        if name != RESET and old.passed and not new.passed:
            lost.append(f"the earlier pass of {name}")
    kernel = f"{RESET}/kernel.py"
    whole = [(ROOT / shelf / kernel).read_bytes() for shelf in ("puzzles", "solutions")]
    if (course / "puzzles" / kernel).read_bytes() not in whole:
        lost.append(f"the kernel file of {RESET}")
    return tuple(lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    draw = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        course = make_course(Path(folder))
        rounds = [kill_once(course, draw) for _ in range(chosen.rounds)]
        known = progress.read(course)
    record = {
        "rounds": len(rounds),
        "seed": chosen.seed,
        # Without a pass that was printed before a kill, nothing could have been lost.
        "ok": not any(one.lost for one in rounds) and any(one.passes for one in rounds),
        "passed": sorted(name for name, one in known.standings.items() if one.passed),
        "kills": [asdict(one) for one in rounds],
    }
    text = json.dumps(record, indent=2) + "\n"
    if chosen.out:
        chosen.out.write_text(text, encoding="utf-8")
    print(f"{len(rounds)} kills, {sum(bool(one.lost) for one in rounds)} with a loss")
    return 0 if record["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
