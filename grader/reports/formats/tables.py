"""Attempts as CSV (RFC 4180), in which no cell is taken for a formula.

Long: a row for each step of each attempt. Wide: a row for each student, a column for each exercise.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from grader.model import Attempt, Step, texts
from grader.reports.formats import facts

LONG = (
    *("student", "exercise", "submitted_at", "status", "step", "outcome", "points", "max_points"),
    *("share", "share_low", "share_high", "device", "simulated", "message", "notes"),
    *("kernel_sha256", "course", "version", "id"),
)


def long(attempts: Sequence[Attempt]) -> str:
    """Return every attempt, step by step; an attempt without steps has one row.

    Points are empty if the attempt could not be graded.
    """
    rows: list[dict[str, object]] = []
    for attempt in attempts:
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
        rows += [common | _step(step, graded) for step in result.steps]
        if not result.steps:
            of_all = {"points": facts.earned(result), "max_points": facts.most(result)}
            rows.append({**common, **of_all} if graded else common)
    return _csv(LONG, ([row.get(name, "") for name in LONG] for row in rows))


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
    exercises = sorted({attempt.result.exercise for attempt in attempts})
    points: dict[str, dict[str, int | None]] = {}
    best: dict[str, int] = {}
    for attempt in attempts:
        mine, result = points.setdefault(attempt.student, {}), attempt.result
        best[result.exercise] = max(best.get(result.exercise, 0), facts.most(result))
        if facts.graded(result):
            mine[result.exercise] = facts.earned(result)
        else:
            mine.setdefault(result.exercise, None)
    whole = sum(best.values())
    rows = [
        (student, *(mine.get(name) for name in exercises), facts.sum_or_none(mine.values()), whole)
        for student, mine in sorted(points.items())
    ]
    return _csv(("student", *exercises, "total", "max_points"), rows)


def _csv(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write lines that end with CR LF, as RFC 4180 says. Numbers are never negative here."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([texts.cell(name) for name in head])
    for row in rows:
        writer.writerow([texts.cell("" if value is None else str(value)) for value in row])
    return texts.without_commands(text.getvalue())
