"""A folder that `grader grade` made, with the grades that the course's rules make of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from grader.classroom import gradebook
from grader.classroom.attempts import Context
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.policy import manual as manual_lines
from grader.classroom.policy import settings
from grader.classroom.policy.final import final, uncovered
from grader.classroom.policy.records import FinalRow, Manual
from grader.course import catalog
from grader.grading import points_of
from grader.model import (
    Attempt,
    Cell,
    ClassRow,
    ClassRun,
    UsageError,
    login_of,
    parse_class,
    quoted,
    texts,
    time_key,
)

FILE = "class.json"
ATTEMPTS = "attempts"
LARGEST = 64 << 20  # bytes of a class.json; 200 students with 33 exercises make 2 MB


@dataclass(frozen=True)
class GradedClass:
    """A class run with its final grades, and the attempts behind them, keyed by id.

    `problems` are of things that are left out, `notes` of all else that an instructor should know.
    """

    run: ClassRun
    rows: tuple[FinalRow, ...]
    attempts: Mapping[str, Attempt]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def attempts_in_order(self) -> list[Attempt]:
        """Return the attempts that count, by student and exercise in the order of the run."""
        ids = (cell.attempt for row in self.rows for cell in row.cells)
        return [self.attempts[one] for one in ids if one in self.attempts]


def is_one(path: Path) -> bool:
    """Return whether the path is a folder that `grader grade` made."""
    return (path / FILE).is_file()


def read(
    folder: Path,
    root: Path,
    context: Context,
    manual: Path | None = None,
    taken_back: Mapping[str, str] | None = None,
) -> GradedClass:
    """Return the class in `folder`, graded by the rules of the course in `root`.

    With trusted keys in `context`, only cells whose attempt such a key signed have points.
    `taken_back` are reasons by the ids of attempts, whose cells have none. Raises UsageError.
    """
    run = _run(folder, context.course)
    rules = settings.read(root)
    files = [folder / ATTEMPTS] if (folder / ATTEMPTS).is_dir() else []
    found = gradebook.read(files, context)
    attempts = {attempt.id: attempt for attempt in found.attempts}
    problems: list[str] = []
    if context.trusted:
        run, unsigned = _signed_only(run, attempts, _most_points(root, run.exercises))
        problems += [*found.problems, *unsigned]
    reasons = taken_back or {}
    back = list(_taken_back(run, reasons))
    changes = manual_lines.Changes((), ())
    if manual is not None:
        changes = _commenting(manual_lines.read(manual, run), back, manual.name)
    lines = [*changes.lines, *back]
    attempts = {one.id: one for one in gradebook.decided(found.attempts, reasons)}
    rows = final(run, rules, lines, context.now)
    # Without keys the grades are those of class.json: a text that cannot be read costs a message.
    unread = () if context.trusted else found.problems
    notes = [*_notes(run, rules)]
    notes += [line for line in unread if not line.startswith(" ")]
    return GradedClass(run, rows, attempts, (*problems, *changes.problems), tuple(notes))


def _run(folder: Path, course: str) -> ClassRun:
    path = folder / FILE
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Give the folder that `grader grade` made."
        ) from None
    if len(content) > LARGEST:
        raise UsageError(
            f"{path} is longer than {LARGEST:,} bytes.",
            "Give the folder that `grader grade` made, unchanged.",
        )
    run = parse_class(content, str(path))
    if run.course != course:
        raise UsageError(
            f"{path} is of the course {run.course!r}, and this one is {course!r}.",
            "Run the command in the folder of that course.",
        )
    return run


def _most_points(root: Path, names: Collection[str]) -> Mapping[str, int]:
    return {
        one.name: sum(points_of(one.any_spec).values())
        for one in catalog.exercises(root)
        if one.name in names
    }


def _signed_only(
    run: ClassRun, attempts: Mapping[str, Attempt], most: Mapping[str, int]
) -> tuple[ClassRun, list[str]]:
    """Return the run with points only where a signed attempt gives them, and what it leaves out.

    Without one, an exercise is out of `most` points: a smaller number in class.json would give it
    less weight.
    """
    problems = []
    rows = []
    for row in run.rows:
        cells = []
        for cell in row.cells:
            if why := _why_unconfirmed(row, cell, attempts):
                changed = {"max_points": most.get(cell.exercise, cell.max_points)}
                cell = cell.model_copy(update=changed)
                if cell.points or cell.standing == "graded":
                    problems.append(f"{row.student}, {cell.exercise}: {why}")
                    lost = {"standing": "not_graded", "points": None, "why": why}
                    cell = cell.model_copy(update=lost)
            cells.append(cell)
        rows.append(row.model_copy(update={"cells": tuple(cells)}))
    return run.model_copy(update={"rows": tuple(rows)}), problems


def _why_unconfirmed(row: ClassRow, cell: Cell, attempts: Mapping[str, Attempt]) -> str:
    attempt = attempts.get(cell.attempt)
    if (
        attempt is None
        or login_of(attempt.student) != login_of(row.student)
        or attempt.result.exercise != cell.exercise
        or attempt.result.points != cell.points
    ):
        return "no signed attempt gives these points"
    if attempt.result.max_points != cell.max_points:
        return f"the signed attempt is out of {attempt.result.max_points} points"
    # Where nobody knows the time, an attempt has that of its grading.
    if time_key(attempt.submitted_at) != time_key(row.submitted_at or attempt.result.started_at):
        return f"the signed attempt was handed in at {quoted(attempt.submitted_at)}"
    return ""


def _taken_back(run: ClassRun, reasons: Mapping[str, str]) -> Iterator[Manual]:
    forbidden = Forbidden({row.student for row in run.rows})  # logins are hidden, as on boards
    for row in run.rows:
        for cell in row.cells:
            if cell.attempt in reasons:
                reason = forbidden.without(texts.clean_line(reasons[cell.attempt]))
                comment = f"taken back: {reason}"
                yield Manual(row.student, cell.exercise, Fraction(0), comment=comment)


def _commenting(
    changes: manual_lines.Changes, back: Collection[Manual], file: str
) -> manual_lines.Changes:
    # An attempt that was taken back has no points, whatever a line gives it: comments stay.
    cells = {(one.student, one.exercise) for one in back}
    lines, problems = [], [*changes.problems]
    for one in changes.lines:
        if (one.student, one.exercise) in cells and (one.points is not None or one.change):
            only = "the attempt was taken back: only the comment counts"
            problems.append(f"{file}, line {one.line}: {only}")
            one = replace(one, points=None, change=Fraction(0))
        lines.append(one)
    return manual_lines.Changes(tuple(lines), tuple(problems))


def _notes(run: ClassRun, rules: settings.GradingSettings) -> Iterator[str]:
    if not run.complete:
        yield "the class run was interrupted: `grader grade` with --resume ends it"
    if missing := uncovered(run, rules):
        yield f"these count by [grades], and were not in the class run: {_few(missing)}"
    ungraded = [row.student for row in run.rows if _has(row.cells, "not_graded")]
    if ungraded:
        yield f"not graded, and without a total: {_few(ungraded)}"
    unreadable = [row.student for row in run.rows if _has(row.cells, "unreadable")]
    if unreadable:
        yield f"cannot be read, and counts 0: what {_few(unreadable)} handed in"


def _has(cells: Sequence[Cell], standing: str) -> bool:
    return any(cell.standing == standing for cell in cells)


def _few(names: Collection[str], most: int = 10) -> str:
    shown = list(names)[:most]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + more
