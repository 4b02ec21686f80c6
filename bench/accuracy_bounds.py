"""Other bounds than bandwidth: how exact their shares are, how far runs differ, what lies gain.

Parts of bench/accuracy.py. Each measures one row after the other and yields what it has, so that a
run that is stopped, or has no more time, can go on later.
"""

from __future__ import annotations

import ast
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accuracy_runs import ROOT, Ended, by_events, graded, graded_text

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.plan import with_step
from grader.speed.bounds import find_bound

COURSE = ROOT / "tests" / "courses" / "bounds"  # an exercise or more for each of these bounds
LIARS = ROOT / "tests" / "redteam" / "bounds"
# Lies about the clock, whatever it times, and the exercises that they are tried with.
CLOCK = ROOT / "tests" / "redteam" / "clock"
CLOCK_LIES = {
    "lies_a_little": ("02_rms", "03_product", "04_one_row"),
    "lies_about_time": ("03_product", "04_one_row"),
}
KEYS = ("below", "passes")  # of a liar's header, in their order
CLOSE, STEADY, GAIN = 0.01, 0.01, 0.02


@dataclass(frozen=True)
class Plan:
    """A run of one part, as the command line asks; `done` is an earlier record to go on with.

    No row begins after `until`, in seconds of the monotonic clock.
    """

    runs: int = 30
    repeated: str = "04_online_softmax"
    exercises: tuple[str, ...] = ()
    until: float = float("inf")
    done: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Liar:
    """A trick that is put below an exercise's solution."""

    path: Path
    below: tuple[str, ...]
    passes: str | None = None

    def text(self, exercise: Exercise) -> str:
        """Return a kernel file: the solution, and the trick, which may take torch for granted."""
        solution = exercise.solution.read_text(encoding="utf-8")
        return f"{solution}\n\nimport torch\n\n{self.path.read_text(encoding='utf-8')}"


class BadHeader(Exception):
    """A liar's file does not say, in the form that is agreed, what it is put below."""


def liar_of(path: Path) -> Liar:
    """Read the comments below a file's docstring. Raises BadHeader when they have another form."""
    text = path.read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    if not isinstance(first, ast.Expr) or first.end_lineno is None:
        raise BadHeader(f"{path.name} has no docstring")
    said: dict[str, str] = {}
    for line in text.splitlines()[first.end_lineno :]:
        found = re.fullmatch(r"# (\w+): (.+)", line)
        if found and found[1] in KEYS:
            said[found[1]] = found[2]
        elif said and line.startswith("#   "):
            said[list(said)[-1]] += " " + line[4:]
        else:
            break
    if list(said) not in (["below"], ["below", "passes"]):
        raise BadHeader(f"{path.name} does not say below which exercises it is put")
    return Liar(path, tuple(said["below"].split()), said.get("passes"))


def every_liar() -> list[Liar]:
    lies = [Liar(CLOCK / f"{name}.py", below) for name, below in CLOCK_LIES.items()]
    return lies + [liar_of(path) for path in sorted(LIARS.glob("*.py"))]


def chosen(plan: Plan) -> list[Exercise]:
    """Return the plan's exercises of COURSE; without any, all."""
    every = list(with_step(catalog.parts(COURSE), "speed"))
    names = plan.exercises or tuple(exercise.name for exercise in every)
    return [exercise for exercise in every if exercise.name in names]


Key = tuple[str, str | int]
Row = dict[str, Any]


def in_turn(
    plan: Plan,
    keys: Sequence[Key],
    key_of: Callable[[Row], Key],
    measure: Callable[[Key], tuple[Row, list[Row]]],
    ok: Callable[[Sequence[Row]], bool],
) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    """Measure each key that has no row yet; yield the part, and its new steps, after each."""
    rows: list[Row] = list(plan.done.get("rows", ()))
    left = [key for key in keys if key not in {key_of(row) for row in rows}]
    steps: list[Row] = []
    while left and time.monotonic() < plan.until:
        row, found = measure(left.pop(0))
        rows.append(row)
        steps += found
        yield _part(rows, left, ok), steps
    yield _part(rows, left, ok), steps


def _part(rows: Sequence[Row], left: Sequence[Key], ok: Callable[..., bool]) -> dict[str, Any]:
    return {
        "rows": list(rows),
        "left": [f"{exercise}: {what}" for exercise, what in left],
        "ok": not left and ok(rows),
    }


def close_to(bound: str) -> float:
    """Return how far a share may be off: a bound whose reference varies has the more leeway."""
    return CLOSE * find_bound(bound).leeway


# --- the parts ------------------------------------------------------------------------------------


def bounds(plan: Plan) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    """Compare each share with that of kernel and reference by plain events, in turn."""
    exercises = {exercise.name: exercise for exercise in chosen(plan)}

    def measure(key: Key) -> tuple[Row, list[Row]]:
        exercise = exercises[str(key[0])]
        step = graded(exercise.name, exercise.solution, COURSE)
        plain = by_events("bound", exercise.name, step, COURSE)
        return bound_row(exercise, step, plain), [step]

    def ok(rows: Sequence[Row]) -> bool:
        return all(
            row["outcome"] == "pass" and abs(row["off"]) <= close_to(row["bound"]) for row in rows
        )

    keys: list[Key] = [(name, "events") for name in exercises]
    yield from in_turn(plan, keys, lambda row: (row["exercise"], "events"), measure, ok)


def bound_row(exercise: Exercise, step: Row, plain: Row) -> Row:
    speed = step["speed"] or {}
    share = speed.get("share")
    return {
        "exercise": exercise.name,
        "bound": exercise.spec.scored.bound,
        "rows": step["sized"][0][0],
        "share": share,
        "events_share": plain["share"],
        "off": None if share is None else share / plain["share"] - 1,
        "rate": speed.get("rate"),
        "reference_rate": speed.get("reference_rate"),
        "raised": speed.get("raised"),
        "events_rate": plain["rate"],
        "events_reference_rate": plain["reference_rate"],
        "outcome": step["outcome"],
        "duration_s": step["duration_s"],
    }


def repeats(plan: Plan) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    """Grade each solution in many fresh processes; `spread` is of all shares of an exercise."""
    exercises = {exercise.name: exercise for exercise in chosen(plan)}

    def measure(key: Key) -> tuple[Row, list[Row]]:
        name, number = key
        exercise = exercises[str(name)]
        step = graded(exercise.name, exercise.solution, COURSE)
        speed = step["speed"] or {}
        row = {
            "exercise": name,
            "run": number,
            "bound": exercise.spec.scored.bound,
            "share": speed.get("share"),
            "raised": speed.get("raised"),
            "outcome": step["outcome"],
            "message": step["message"],
            "duration_s": step["duration_s"],
        }
        return row, [step]

    def ok(rows: Sequence[Row]) -> bool:
        return all(found["ok"] for found in spreads(rows).values())

    keys: list[Key] = [(name, number) for number in range(plan.runs) for name in exercises]
    for part, steps in in_turn(plan, keys, lambda row: (row["exercise"], row["run"]), measure, ok):
        yield part | {"spreads": spreads(part["rows"])}, steps


def spreads(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return for each exercise how far the shares of its runs differ, relative to their median."""
    found = {}
    for name in dict.fromkeys(row["exercise"] for row in rows):
        own = [row for row in rows if row["exercise"] == name]
        shares = [row["share"] for row in own if row["share"] is not None]
        spread = (max(shares) - min(shares)) / statistics.median(shares) if shares else None
        outcomes = sorted({row["outcome"] for row in own})
        bound = find_bound(own[0]["bound"])
        limit = max(STEADY * bound.leeway, 2 * bound.rerun)  # what results themselves allow for
        found[name] = {
            "runs": len(own),
            "spread": spread,
            "outcomes": outcomes,
            "ok": outcomes == ["pass"] and spread is not None and spread <= limit,
        }
    return found


def liars(plan: Plan) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    """Grade each liar below each solution that it names; its gain is over the solution alone."""
    exercises = {exercise.name: exercise for exercise in chosen(plan)}
    known = {liar.path.stem: liar for liar in every_liar()}
    honest: dict[str, Row] = {}

    def measure(key: Key) -> tuple[Row, list[Row]]:
        exercise, liar = exercises[str(key[0])], known[str(key[1])]
        before = [] if exercise.name in honest else [_honest(exercise)]
        for step in before:
            honest[exercise.name] = step
        try:
            step = graded_text(exercise.name, liar.text(exercise), COURSE)
        except Ended as error:  # no verdict is no pass
            step = {"outcome": "error", "failure": "ended", "message": str(error)[-2000:]}
        return liar_row(exercise, liar, step, honest[exercise.name]["speed"]["share"]), before

    keys: list[Key] = [
        (name, liar.path.stem)
        for name in exercises
        for liar in known.values()
        if name in liar.below
    ]
    yield from in_turn(
        plan, keys, lambda row: (row["exercise"], row["kernel"]), measure, gain_little
    )


def _honest(exercise: Exercise) -> Row:
    step = graded(exercise.name, exercise.solution, COURSE)
    if step["speed"] is None:
        raise Ended(f"The solution of {exercise.name} has no speed: {step['message']}")
    return step


def liar_row(exercise: Exercise, liar: Liar, step: Row, honest_share: float) -> Row:
    """Return what became of a liar. One that is caught gains nothing, whatever its share is."""
    speed, caught = step.get("speed"), step["failure"]
    return {
        "exercise": exercise.name,
        "bound": exercise.spec.scored.bound,
        "kernel": liar.path.stem,
        "outcome": step["outcome"],
        "caught": caught,
        "message": step["message"],
        "share": speed and speed["share"],
        "raised": speed and speed["raised"],
        "honest_share": honest_share,
        "gain": speed["share"] / honest_share - 1 if speed and not caught else None,
        "passes": liar.passes,
        "duration_s": step.get("duration_s"),
    }


def gain_little(rows: Sequence[Row]) -> bool:
    """Report whether each liar was caught, gained little, or is known to pass."""
    return all(
        row["caught"] or row["passes"] or (row["gain"] is not None and row["gain"] <= little(row))
        for row in rows
    )


def little(row: Row) -> float:
    """Return GAIN, or where that is more, how far two runs of a right kernel may be apart."""
    return max(GAIN, find_bound(row["bound"]).rerun)


# --- what a person reads --------------------------------------------------------------------------


def bound_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for row in part["rows"]:
        share, off = (row["share"], row["off"])
        told = "no share" if share is None else f"{share:.2%} of {row['bound']}"
        yield (
            f"  {row['exercise']:<16}{told}, {row['events_share']:.2%} by events"
            + ("" if off is None else f": {off:+.2%} (at most {close_to(row['bound']):.0%})")
            + f", {row['outcome']}"
        )
    yield from _left(part)


def repeat_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for name, found in part["spreads"].items():
        spread = "no share" if found["spread"] is None else f"spread {found['spread']:.2%}"
        yield f"  {name:<16}{found['runs']} runs, {spread}, {', '.join(found['outcomes'])}"
    yield from _left(part)


def liar_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for row in part["rows"]:
        told = row["caught"] or f"gains {row['gain']:+.2%}"
        known = ": not defended" if row["passes"] and not row["caught"] else ""
        yield f"  {row['exercise']:<16}{row['kernel']:<32}{told}{known}"
    yield from _left(part)


def _left(part: Mapping[str, Any]) -> Iterator[str]:
    if part["left"]:
        more = "" if len(part["left"]) == 1 else f" and {len(part['left']) - 1} more"
        yield f"  not measured yet: {part['left'][0]}{more}; go on with --resume"
