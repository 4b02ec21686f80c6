"""Judge the red team: no cheat may pass, and each must be stopped where its header says.

    python bench/redteam.py
    python bench/redteam.py c24_by_pointer c24_by_identity
    python bench/redteam.py --device cuda --out bench/results/redteam_h200.json
    python bench/redteam.py --device cuda --shard 1/2 --out one.json

The cheats are tests/redteam/cheats/cNN_*.py, NN a number of docs/trust.md's table. What has to
become of each is said by comments below its docstring, in this order:

    # attacks: the exercise, with its course's folder before it where that is another course
    # stopped: the step and the kind of failure that end it; other ends behind ` | `, and at the end
    #   a remark (in parentheses)
    # harmless: at most 1.02       times the share of the ceiling that the solution reaches
    # passes: why nothing stops it, and what would
    # GPU only: why no simulator can show it

`attacks` and one of the next three at least must be there; where there are several, each is an
allowed end, because the CPU and a GPU may differ. A cheat that `passes` may be stopped by anything,
and the table says so. The step `judge` with the kind `ended` stands for a judge that gave no
verdict. Each cheat gets a judge of its own, for one may end it or leave files behind; on the CPU as
many run at a time as there are cores.

Exit code 1 when a cheat passed, gained more than it may, or was stopped by something else.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import statistics
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.model.errors import CannotGrade, GraderError, UsageError
from grader.model.outcomes import Status
from grader.model.results import Result
from grader.model.verdict import first_problem

CHEATS = Path("tests/redteam/cheats")  # below the course
KEYS = ("attacks", "stopped", "harmless", "passes", "GPU only")  # of a header, in their order
NAME = re.compile(r"c(\d\d)_[a-z0-9_]+")
STOP = re.compile(r"[a-z]+ [a-z_]+")
SOLUTION_RUNS = 3  # whose median is what a harmless cheat is held against
# What became of a cheat, where that is in order, and in the order in which they are counted.
FINE = ("stopped", "harmless", "not defended", "stopped after all", "undecided")


class BadHeader(Exception):
    """A cheat's file does not say, in the form that is agreed, what has to become of it."""


@dataclass(frozen=True)
class Header:
    """What a cheat's file says of it."""

    attacks: str
    stopped: tuple[str, ...] = ()  # such as `correctness value`
    harmless: float | None = None  # the most that it may gain, as a factor
    passes: str | None = None
    gpu_only: str | None = None


@dataclass(frozen=True)
class Cheat:
    """One file of the red team."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def number(self) -> int:
        """The attack that it tries: NN of docs/trust.md's CNN."""
        known = NAME.fullmatch(self.name)
        if known is None:
            raise BadHeader(f"{self.path.name} is not named cNN_what_it_does.py")
        return int(known[1])

    @cached_property
    def header(self) -> Header:
        try:
            return header_of(self.path.read_text(encoding="utf-8"))
        except BadHeader as error:
            raise BadHeader(f"{self.path.name}: {error}") from None

    @property
    def seed(self) -> int:
        """Always the same, so that what a run found can be found again."""
        return zlib.crc32(self.name.encode()) >> 1


@dataclass(frozen=True)
class Fate:
    """What became of one cheat. `share` is of the ceiling, `gain` that of the solution's share."""

    name: str
    attacks: str
    status: str  # one of FINE, or else passed, gained or stopped elsewhere
    step: str | None = None
    kind: str | None = None
    message: str | None = None
    seconds: float = 0.0
    share: float | None = None
    gain: float | None = None
    seed: int | None = None

    @property
    def ok(self) -> bool:
        return self.status in FINE


def header_of(text: str) -> Header:
    """Read the comments below a file's docstring. Raises BadHeader when they have another form."""
    docstring = ast.parse(text).body[0]
    if not isinstance(docstring, ast.Expr) or docstring.end_lineno is None:
        raise BadHeader("it has no docstring")
    said: dict[str, str] = {}
    for line in text.splitlines()[docstring.end_lineno :]:
        if not line.startswith("# "):
            break
        key, colon, value = line[2:].partition(": ")
        if colon and key in KEYS:
            if said and KEYS.index(key) <= KEYS.index(list(said)[-1]):
                raise BadHeader(f"`{key}` is not where it belongs: {', '.join(KEYS)}")
            said[key] = value
        elif said:  # a line may go on
            said[list(said)[-1]] += " " + line[2:].strip()
        else:
            raise BadHeader(f"this line says nothing: {line}")
    return _header(said)


def _header(said: Mapping[str, str]) -> Header:
    if "attacks" not in said:
        raise BadHeader("it does not say which exercise it attacks")
    if not {"stopped", "harmless", "passes"} & said.keys():
        raise BadHeader("it does not say what has to become of it")
    told = re.sub(r"\s*\(.*\)$", "", said.get("stopped", ""))
    stops = tuple(told.split(" | ")) if "stopped" in said else ()
    for stop in stops:
        if STOP.fullmatch(stop) is None:
            raise BadHeader(f"`{stop}` is not a step and a kind of failure")
    most = None
    if "harmless" in said:
        factor = re.fullmatch(r"at most (1\.\d+)", said["harmless"])
        if factor is None:
            raise BadHeader("harmless is how much: `at most 1.02`")
        most = float(factor[1])
    return Header(said["attacks"], stops, most, said.get("passes"), said.get("GPU only"))


def cheats(root: Path, names: Sequence[str] = ()) -> list[Cheat]:
    """All cheats of the course, or those with these names, in order.

    Raises UsageError for a name that none has.
    """
    known = {path.stem: Cheat(path) for path in sorted((root / CHEATS).glob("*.py"))}
    for name in names:
        if name not in known:
            raise UsageError(f"The red team has no {name!r}.", f"See {root / CHEATS}.")
    return [known[name] for name in names] or list(known.values())


def attacked(root: Path, attacks: str) -> Exercise:
    """Return the exercise that a header names, such as `01_add` or `tests/courses/its/01_add`.

    Raises UsageError where there is none.
    """
    course, _, name = attacks.rpartition("/")
    return catalog.find(root / course, name)


def part(items: Sequence[Cheat], shard: str) -> list[Cheat]:
    """Each N-th of them, from the I-th on. Raises UsageError for a shard that is not I/N."""
    told = re.fullmatch(r"(\d+)/(\d+)", shard)
    if told is None or not 1 <= int(told[1]) <= int(told[2]):
        raise UsageError(f"There is no shard {shard!r}.", "Name it I/N, such as 1/2 and 2/2.")
    return list(items[int(told[1]) - 1 :: int(told[2])])


def judged(cheat: Cheat, exercise: Exercise, device: str, honest: float | None) -> Fate:
    """What becomes of one cheat; `honest` is the solution's share of the ceiling."""
    request = check.Request(
        exercise, cheat.path, Options(device=device, seed=cheat.seed, shrink=False)
    )
    began = time.monotonic()
    try:
        (result,) = check.run([request], lambda text: None)
    except GraderError as error:
        if isinstance(error, (CannotGrade, UsageError)):
            raise
        return fate_of(cheat, None, None, error.message, time.monotonic() - began)
    return fate_of(cheat, result, honest, "", time.monotonic() - began)


def fate_of(
    cheat: Cheat, result: Result | None, honest: float | None, said: str, seconds: float
) -> Fate:
    """Hold a result against the header. Without a result the judge ended, and `said` is why."""
    header, found = cheat.header, {"seconds": round(seconds, 1), "seed": cheat.seed}
    step, kind, message, share, gain = "judge", "ended", said, None, None
    if result is not None:
        problem = first_problem(result)
        failure = None if problem is None else problem.failure
        step = None if problem is None else problem.name
        kind = None if problem is None else failure.kind if failure else problem.outcome.value
        message = failure.message if failure else None if problem is None else problem.summary
        share = next((s.speed.share for s in result.steps if s.speed is not None), None)
        gain = None if share is None or not honest else share / honest
    return Fate(
        cheat.name,
        header.attacks,
        _status(header, result, f"{step} {kind}", gain),
        step,
        kind,
        message,
        share=share,
        gain=None if gain is None else round(gain, 4),
        **found,
    )


def _status(header: Header, result: Result | None, stop: str, gain: float | None) -> str:
    if result is None or result.status is not Status.PASS:
        if stop in header.stopped:
            return "stopped"
        if result is not None and result.status is Status.CANNOT_GRADE:
            return "undecided"
        return "stopped after all" if header.passes else "stopped elsewhere"
    if header.harmless is not None and gain is not None:
        return "harmless" if gain <= header.harmless else "gained"
    return "passed" if header.passes is None else "not defended"


def honest_share(exercise: Exercise) -> float | None:
    """The share of the ceiling that the solution reaches on this GPU; None when it is not told."""
    request = check.Request(exercise, exercise.solution, Options(device="cuda"))
    results = check.run([request] * SOLUTION_RUNS, lambda text: None)
    shares = [s.speed.share for result in results for s in result.steps if s.speed is not None]
    return statistics.median(shares) if shares else None


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("names", nargs="*", help="cheats, such as c24_by_pointer; without, all")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--shard", default="1/1", help="I/N: each N-th cheat, from the I-th on")
    options.add_argument("--at-once", type=int, help="cheats at a time (default: cores; GPU: 1)")
    options.add_argument("--out", type=Path, help="write the record here")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    try:
        chosen = part(cheats(root, asked.names), asked.shard)
        able = [one for one in chosen if asked.device == "cuda" or not one.header.gpu_only]
        at_once = asked.at_once or (1 if asked.device == "cuda" else os.cpu_count() or 1)
        began = time.monotonic()
        fates = judge_all(root, able, asked.device, at_once)
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    except BadHeader as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    if out is not None:
        record = {
            "benchmark": "redteam",
            "device": asked.device,
            "shard": asked.shard,
            "environment": environment_of(asked.device),
            "wall_s": round(time.monotonic() - began, 1),
            "ok": all(fate.ok for fate in fates),
            "counts": Counter(fate.status for fate in fates),
            "left_out": [one.name for one in chosen if one not in able],
            "cheats": [asdict(fate) | {"ok": fate.ok} for fate in fates],
        }
        out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(fates, len(chosen) - len(able))))
    return 0 if all(fate.ok for fate in fates) else 1


def environment_of(device: str) -> dict[str, Any]:
    from grader.machine.versions import environment  # which imports torch

    return environment(device).model_dump()


def judge_all(root: Path, chosen: Sequence[Cheat], device: str, at_once: int) -> list[Fate]:
    """The fates of these cheats, in their order, each told on standard error as it comes."""
    exercises = {one.header.attacks: attacked(root, one.header.attacks) for one in chosen}
    shares: dict[str, float | None] = {}
    for one in chosen:
        name = one.header.attacks
        if device == "cuda" and one.header.harmless is not None and name not in shares:
            shares[name] = honest_share(exercises[name])

    def told(cheat: Cheat) -> Fate:
        name = cheat.header.attacks
        fate = judged(cheat, exercises[name], device, shares.get(name))
        print(f"{fate.name}: {fate.status}", file=sys.stderr, flush=True)
        return fate

    with ThreadPoolExecutor(at_once) as pool:
        try:
            return list(pool.map(told, chosen))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def table(fates: Sequence[Fate], left_out: int) -> Iterator[str]:
    """What a person reads: one line for each cheat, and the sum."""
    yield f"{'cheat':<36}{'attacks':<40}{'what became of it':<20}{'s':>6}  stopped by, or gain"
    for fate in fates:
        by = " ".join(filter(None, (fate.step, fate.kind)))
        gain = "" if fate.gain is None else f"{fate.gain - 1:+.1%}"
        yield (
            f"{fate.name:<36}{fate.attacks:<40}{fate.status:<20}{fate.seconds:>6.1f}  "
            + ", ".join(filter(None, (by, gain)))
        ).rstrip()
        if not fate.ok:
            yield f"    NOT OK: {fate.message or 'it passed'} (seed {fate.seed})"
    counts = Counter(fate.status for fate in fates)
    order = [*FINE, *sorted(counts.keys() - set(FINE))]
    yield (
        f"{len(fates)} cheats: "
        + ", ".join(f"{counts[status]} {status}" for status in order if counts[status])
        + (f"; {left_out} that need a GPU were left out" if left_out else "")
    )


if __name__ == "__main__":
    sys.exit(main())
