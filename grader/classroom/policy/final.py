"""From a class run to grades: the one place where the course's rules and changes are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from grader.classroom.policy.lateness import Lateness, extension, lateness, latest
from grader.classroom.policy.records import FinalCell, FinalRow, Manual
from grader.classroom.policy.settings import GradingSettings
from grader.classroom.policy.total import total
from grader.model import Cell, ClassRow, ClassRun, login_of, quoted, stamp, time_key, utc

# By standing, where no result explains it. Such work is the student's, and has no points.
_NO_WORK = {
    "missing": "nothing was handed in",
    "unreadable": "the submission cannot be read",
    "not_started": "not started",
}


def final(
    run: ClassRun,
    settings: GradingSettings,
    manual: Sequence[Manual] = (),
    now: datetime | None = None,
) -> tuple[FinalRow, ...]:
    """Return the grades of a class, in the order of its rows.

    A cell that a machine could not grade has no final points, unless `manual` sets them. Work that
    is missing counts 0; where `now` is before its deadline, the reason says so.
    """
    extensions = _extensions_by_group(run.rows)
    lines: dict[str, list[Manual]] = {}
    for one in manual:
        lines.setdefault(login_of(one.student), []).append(one)
    return tuple(
        _row(row, run.exercises, settings, extensions[_key(row)], lines, now) for row in run.rows
    )


def uncovered(run: ClassRun, settings: GradingSettings) -> tuple[str, ...]:
    """Return the exercises that count by the rules, and that the class run did not grade."""
    named = settings.counted or frozenset()
    grouped = [name for group in settings.groups for name in group.exercises]
    return tuple(sorted({*named, *grouped} - {*run.exercises}))


def _key(row: ClassRow) -> str:
    # A group hands in together: all its members have its latest extension.
    return f"group {login_of(row.group)}" if row.group else f"student {login_of(row.student)}"


def _extensions_by_group(rows: Sequence[ClassRow]) -> Mapping[str, list[datetime | None]]:
    found: dict[str, list[datetime | None]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(extension(row.due) if row.due else None)
    return found


def _row(
    row: ClassRow,
    exercises: Sequence[str],
    settings: GradingSettings,
    extensions: Sequence[datetime | None],
    lines: Mapping[str, Sequence[Manual]],
    now: datetime | None,
) -> FinalRow:
    own = lines.get(login_of(row.student), ())
    submitted = utc(row.submitted_at) if time_key(row.submitted_at) else None
    cells = []
    for cell in _all_cells(row, exercises):
        deadline = latest(settings.deadline_of(cell.exercise), extensions)
        late = lateness(submitted, deadline, settings.late)
        before = _not_yet_due(cell, deadline, now)
        made = _cell(cell, late, before, settings.counts(cell.exercise))
        cells.append(_changed(made, [one for one in own if one.exercise == cell.exercise]))
    reached, most, why = total(cells, settings)
    deadline = latest(settings.deadline, extensions)
    return FinalRow(
        student=row.student,
        cells=tuple(cells),
        total=reached,
        most=most,
        why=why,
        name=row.name,
        section=row.section,
        group=row.group,
        submitted_at=row.submitted_at,
        deadline="" if deadline is None else stamp(deadline),
        comment="; ".join(one.comment for one in own if not one.exercise and one.comment),
        notes=(*row.notes, *_notes(row, settings)),
        ids=row.ids,
    )


def _all_cells(row: ClassRow, exercises: Sequence[str]) -> Iterator[Cell]:
    """Yield a cell for each exercise of the run: one that a row lacks was not graded."""
    own = {cell.exercise: cell for cell in row.cells}
    for name in (*exercises, *(name for name in own if name not in exercises)):
        lost = "the class run holds no result of it"
        yield own.get(name) or Cell(
            exercise=name, standing="not_graded", points=None, max_points=0, why=lost
        )


def _notes(row: ClassRow, settings: GradingSettings) -> Iterator[str]:
    if row.due and extension(row.due) is None:
        yield f"the extension {quoted(row.due)} is not a time: it was ignored"
    dated = settings.deadline or settings.deadlines
    handed_in = row.standing not in ("missing", "unreadable")
    if dated and handed_in and not time_key(row.submitted_at):
        yield "no time of submission is known: nothing was deducted for being late"


def _not_yet_due(cell: Cell, deadline: datetime | None, now: datetime | None) -> str:
    open_still = deadline is not None and now is not None and now < deadline
    if open_still and deadline is not None and cell.standing in ("missing", "not_started"):
        return f"not due before {stamp(deadline)}"
    return ""


def _cell(cell: Cell, late: Lateness, before: str, counts: bool) -> FinalCell:
    ungraded = cell.standing == "not_graded" or (
        cell.points is None and cell.standing not in _NO_WORK
    )
    earned = Fraction(cell.points or 0)
    deduction = earned * late.percent / 100
    why = before or cell.why or _NO_WORK.get(cell.standing, "")
    return FinalCell(
        exercise=cell.exercise,
        standing=cell.standing,
        points=cell.points,
        max_points=cell.max_points,
        final=None if ungraded else earned - deduction,
        counts=counts,
        late=0 if ungraded else late.seconds,
        deduction=Fraction(0) if ungraded else deduction,
        reason=late.reason if late.reason and earned else why,
        status=cell.status,
        attempt=cell.attempt,
    )


def _changed(cell: FinalCell, lines: Sequence[Manual]) -> FinalCell:
    """Apply an instructor's lines: points are set, then changes are added, never below 0."""
    if not lines:
        return cell
    before = cell.final
    given = [one.points for one in lines if one.points is not None]
    after = given[-1] if given else before
    if after is not None:
        after = max(after + sum((one.change for one in lines), Fraction(0)), Fraction(0))
    changed = Fraction(0) if after is None else after - (before or Fraction(0))
    comment = "; ".join(one.comment for one in lines if one.comment)
    return replace(cell, final=after, change=changed, comment=comment)
