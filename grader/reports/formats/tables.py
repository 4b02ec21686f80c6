"""Attempts and grades as CSV (RFC 4180), in which no cell is taken for a formula.

Long: a row for each step of each attempt. Wide: a row for each student, a column for each exercise.
A class that was graded at once has its final grades in both: every student of the roster, and what
was deducted.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from grader.classroom import FinalCell, FinalRow
from grader.classroom.policy.records import text_of
from grader.model import Attempt, Step, texts
from grader.reports.formats import facts

LONG = (
    *("student", "exercise", "submitted_at", "status", "step", "outcome", "points", "max_points"),
    *("share", "share_low", "share_high", "device", "simulated", "message", "notes"),
    *("kernel_sha256", "course", "version", "id"),
)
# Behind the columns of LONG, and behind those of `wide`.
FINAL_LONG = (
    *("standing", "late_s", "deduction", "change", "final", "final_max", "reason", "comment"),
    *("name", "section", "group"),
)
FINAL_WIDE = ("name", "section", "group", "deadline", "submitted_at", "deductions", "notes")
LONGEST_CELL = 1000  # characters
MOST_NAMED = 5  # exercises with one reason
_NUMBER = re.compile(r"-\d+(\.\d+)?")


def long(attempts: Sequence[Attempt]) -> str:
    """Return every attempt, step by step; an attempt without steps has one row.

    Points are empty if the attempt could not be graded.
    """
    rows = [row for attempt in attempts for row in _steps(attempt)]
    return _csv(LONG, ([row.get(name, "") for name in LONG] for row in rows))


def final_long(rows: Sequence[FinalRow], attempts: Mapping[str, Attempt]) -> str:
    """Return each cell's steps with its final grade; a cell without an attempt has one row.

    `attempts` are keyed by id. `final` is of the whole exercise, and the same in each of its rows.
    """
    head = (*LONG, *FINAL_LONG)
    table = [
        {**step, **_final(row, cell)}
        for row in rows
        for cell in row.cells
        for step in (
            _steps(attempts[cell.attempt])
            if cell.attempt in attempts
            else [{"exercise": cell.exercise, "submitted_at": row.submitted_at}]
        )
    ]
    return _csv(head, ([row.get(name, "") for name in head] for row in table))


def _final(row: FinalRow, cell: FinalCell) -> dict[str, object]:
    return {
        "student": row.student,
        "standing": cell.standing,
        "late_s": cell.late,
        "deduction": text_of(cell.deduction),
        "change": text_of(cell.change),
        "final": text_of(cell.final),
        "final_max": cell.max_points,
        "reason": cell.reason,
        "comment": cell.comment,
        "name": row.name,
        "section": row.section,
        "group": row.group,
    }


def _steps(attempt: Attempt) -> list[dict[str, object]]:
    result = attempt.result
    common: dict[str, object] = {
        "student": attempt.student,
        "exercise": result.exercise,
        "submitted_at": attempt.submitted_at,
        "status": result.status.value,
        "device": result.environment.device,
        "simulated": str(result.environment.simulated).lower(),
        "message": facts.reason(result),
        "notes": "; ".join(attempt.notes),
        "kernel_sha256": result.kernel.sha256,
        "course": attempt.course,
        "version": attempt.version,
        "id": attempt.id,
    }
    graded = facts.graded(result)
    if result.steps:
        return [common | _step(step, graded) for step in result.steps]
    of_all = {"points": facts.earned(result), "max_points": facts.most(result)}
    return [{**common, **of_all} if graded else common]


def _step(step: Step, graded: bool) -> dict[str, object]:
    row: dict[str, object] = {"step": step.name, "outcome": step.outcome.value}
    if graded:
        row |= {"points": step.points, "max_points": step.max_points}
    if step.speed is not None:
        shares = step.speed.share, step.speed.share_low, step.speed.share_high
        names = "share", "share_low", "share_high"
        row |= {name: f"{share:.4f}" for name, share in zip(names, shares, strict=True)}
    return row


def wide(attempts: Sequence[Attempt]) -> str:
    """Return each student's points; of several attempts at an exercise the last graded one counts.

    A cell without such an attempt is empty. If one was made, `total` is empty, too: nobody gets a
    zero for a fault of others.
    """
    points, best = facts.points_of(attempts)
    exercises = sorted(best)
    whole = sum(best.values())
    rows = [
        (student, *(mine.get(name) for name in exercises), facts.sum_or_none(mine.values()), whole)
        for student, mine in sorted(points.items())
    ]
    return _csv(("student", *exercises, "total", "max_points"), rows)


def final_wide(rows: Sequence[FinalRow]) -> str:
    """Return every student's grades, in the order of the roster.

    A cell that could not be graded is empty, and so is the total that would need it: `notes` says
    why.
    """
    exercises = [cell.exercise for cell in rows[0].cells] if rows else []
    head = ("student", *exercises, "total", "max_points", *FINAL_WIDE)
    table = []
    for row in rows:
        points = [text_of(cell.final) for cell in row.cells]
        about = (row.name, row.section, row.group, row.deadline, row.submitted_at)
        # The longest is last: of a long cell only the beginning is kept.
        notes = [*filter(None, (row.why, row.comment)), *row.notes, *_unfinished(row)]
        sums = (text_of(row.total), text_of(row.most))
        said = (_joined(row.deductions), _joined(notes))
        table.append((row.student, *points, *sums, *about, *said))
    return _csv(head, table)


def _unfinished(row: FinalRow) -> list[str]:
    """Return why there is no work, or no result: each reason once, with its exercises."""
    if row.reason:
        return [row.reason]
    names: dict[str, list[str]] = {}
    for cell in row.cells:
        if cell.standing != "graded" and cell.reason:
            # That the file of this exercise is not there would be a reason for each.
            own = cell.standing == "not_started" and cell.exercise in cell.reason
            names.setdefault("not started" if own else cell.reason, []).append(cell.exercise)
    return [f"{_few(some)}: {reason}" for reason, some in names.items()]


def _few(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _joined(sentences: Iterable[str]) -> str:
    return "; ".join(texts.one_line(sentence) for sentence in sentences)


def _csv(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write lines that end with CR LF, as RFC 4180 says."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([texts.cell(name) for name in head])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return texts.without_commands(text.getvalue())


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    # A number below 0 is not a formula: a spreadsheet must still be able to add it up.
    return text if _NUMBER.fullmatch(text) else texts.cell(text, LONGEST_CELL)
