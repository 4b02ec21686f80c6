"""A class at a glance: where it is stuck, which failures are common, how its shares lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.policy.records import FinalCell, FinalRow
from grader.model import Attempt, Result, Status, first_problem, login_of, time_key

PASSED = "passed"
NOT_STARTED, MISSING, UNREADABLE, NOT_GRADED = "not_started", "missing", "unreadable", "not_graded"
OTHER = "other"  # failed, and no step says where


@dataclass(frozen=True)
class AtExercise:
    """The standing of a class at one exercise.

    `counts` are students by where they stand: PASSED, one of the other words above, or the step at
    which their kernel failed. `shares` are those of the kernels whose speed was measured.
    """

    exercise: str
    title: str
    counts: Mapping[str, int]
    shares: tuple[float, ...] = ()
    gates: tuple[float, float] | None = None  # that passes, and the great one


@dataclass(frozen=True)
class Mistake:
    """One failure of several students: its step, kind and likely cause, and a message of it."""

    exercise: str
    step: str
    kind: str
    cause: str
    students: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Overview:
    """A class, or a section of it; `steps` are those at which a kernel failed, in their order."""

    rows: tuple[FinalRow, ...]
    steps: tuple[str, ...]
    exercises: tuple[AtExercise, ...]
    mistakes: tuple[Mistake, ...]
    # By login: the attempts of a student, oldest first.
    history: Mapping[str, tuple[Attempt, ...]] = field(default_factory=dict)


def overview(
    rows: Sequence[FinalRow],
    attempts: Mapping[str, Attempt],
    earlier: Iterable[Attempt] = (),
) -> Overview:
    """Return the overview of these rows.

    `attempts` are keyed by id; `earlier` are attempts of earlier class runs.
    """
    pairs = [
        (row, cell, found.result if (found := attempts.get(cell.attempt)) else None)
        for row in rows
        for cell in row.cells
    ]
    names = list(dict.fromkeys(cell.exercise for _, cell, _ in pairs))
    of = {name: [(c, result) for _, c, result in pairs if c.exercise == name] for name in names}
    steps = dict.fromkeys(step.name for _, _, result in pairs if result for step in result.steps)
    failed_at = {_place(cell, result) for _, cell, result in pairs}
    return Overview(
        rows=tuple(rows),
        steps=tuple(step for step in steps if step in failed_at),
        exercises=tuple(_at(name, some) for name, some in of.items()),
        mistakes=tuple(_mistakes(pairs)),
        history=_history(rows, [*attempts.values(), *earlier]),
    )


def _place(cell: FinalCell, result: Result | None) -> str:
    if cell.standing != "graded":
        return cell.standing
    if result is None:
        return PASSED if cell.status == Status.PASS else OTHER
    if result.status is Status.PASS:
        return PASSED
    problem = first_problem(result)
    return problem.name if problem else OTHER


def _at(name: str, cells: Sequence[tuple[FinalCell, Result | None]]) -> AtExercise:
    results = [result for _, result in cells if result is not None]
    speeds = [step.speed for result in results for step in result.steps if step.speed]
    return AtExercise(
        exercise=name,
        title=results[0].title if results else name,
        counts=Counter(_place(cell, result) for cell, result in cells),
        shares=tuple(sorted(speed.share for speed in speeds)),
        gates=(speeds[0].passing, speeds[0].great) if speeds else None,
    )


def _mistakes(pairs: Iterable[tuple[FinalRow, FinalCell, Result | None]]) -> list[Mistake]:
    """Return the failures by exercise, step, kind and cause; those of most students first."""
    found: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for row, cell, result in pairs:
        problem = first_problem(result) if result and cell.standing == "graded" else None
        if problem is not None and problem.failure is not None:
            failure = problem.failure
            key = (cell.exercise, problem.name, failure.kind, failure.cause or "")
            message = failure.message.splitlines()[0] if failure.message else ""
            found.setdefault(key, []).append((row.student, message))
    mistakes = [
        Mistake(*key, tuple(student for student, _ in some), some[0][1])
        for key, some in found.items()
    ]
    return sorted(mistakes, key=lambda one: (-len(one.students), one.exercise, one.step, one.kind))


def _history(
    rows: Sequence[FinalRow], attempts: Iterable[Attempt]
) -> dict[str, tuple[Attempt, ...]]:
    known = {login_of(row.student): row.student for row in rows}
    found: dict[str, dict[str, Attempt]] = {row.student: {} for row in rows}
    for one in attempts:
        student = known.get(login_of(one.student))
        if student is not None and one.result.status is not Status.NOT_STARTED:
            found[student].setdefault(one.id, one)
    return {
        student: tuple(sorted(own.values(), key=lambda one: time_key(one.result.started_at)))
        for student, own in found.items()
    }
