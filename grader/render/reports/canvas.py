"""Canvas's gradebook: points filled into the CSV file that Canvas exported, and nothing else there.

The file's first row names its columns: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`,
then assignments as `Title (number)`. A row whose first cell is `Points Possible` follows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.attempts import Attempt
from grader.errors import UsageError
from grader.render.reports import facts

_LOGINS = ("SIS Login ID", "SIS User ID", "Integration ID", "ID")
_NUMBER = re.compile(r" \(\d+\)$")


_Points = tuple[int, int]  # earned, and how many there are


@dataclass(frozen=True)
class Filled:
    """The gradebook to import, and what had no place in it."""

    text: str
    unknown_students: tuple[str, ...]
    unknown_exercises: tuple[str, ...]


def fill(gradebook: str, attempts: Sequence[Attempt], total: str = "") -> Filled:
    """Put each student's points into the columns that are called as the exercises are.

    `total` names a column for the sum over all exercises. Points are scaled where Canvas counts
    another number of them than the exercise. Raises UsageError for a file that is no gradebook,
    csv.Error for one that is no CSV.
    """
    rows = list(csv.reader(io.StringIO(gradebook.removeprefix("\ufeff"))))
    head, possible = _head(rows)
    points = _points(attempts, total)
    columns = _columns(head)
    exercises = {a.result.exercise for a in attempts} | ({total} if total else set())
    placed = {name: columns[name] for name in exercises if name in columns}
    if total and total not in placed:
        raise UsageError(
            f"The gradebook has no column {total!r}.",
            f"It has {', '.join(columns) or 'none for an assignment'}.",
        )
    found: set[str] = set()
    for row in rows[1:]:
        student = next((name for name in _names(head, row) if name in points), None)
        if student is None or row is possible:
            continue
        found.add(student)
        for name, column in placed.items():
            if name in points[student]:
                most = _most(possible, column)
                row[column] = _scaled(*points[student][name], most)
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return Filled(
        text.getvalue(),
        tuple(sorted(set(points) - found)),
        tuple(sorted(exercises - set(placed))),
    )


def _head(rows: Sequence[list[str]]) -> tuple[list[str], list[str] | None]:
    """The row that names the columns, and that of the points which can be had."""
    if not rows or "Student" not in rows[0] or not set(_LOGINS) & set(rows[0]):
        raise UsageError(
            "The gradebook is not a file that Canvas exported: its first row names no `Student`.",
            "In Canvas: Grades, Export, Export Entire Gradebook; give that file unchanged.",
        )
    width = len(rows[0])
    for row in rows:
        row += [""] * (width - len(row))
    marked = (row for row in rows[1:4] if row[0].strip() == "Points Possible")
    return rows[0], next(marked, None)


def _points(attempts: Sequence[Attempt], total: str) -> Mapping[str, Mapping[str, _Points]]:
    """For each student and exercise the points, as far as they were graded.

    Of several attempts at one exercise the last that could be graded counts.
    """
    points: dict[str, dict[str, _Points | None]] = {}
    best: dict[str, int] = {}
    for attempt in attempts:
        mine, result = points.setdefault(attempt.student.casefold(), {}), attempt.result
        best[result.exercise] = max(best.get(result.exercise, 0), facts.most(result))
        if facts.graded(result):
            mine[result.exercise] = facts.earned(result), facts.most(result)
        else:
            mine.setdefault(result.exercise, None)
    for mine in points.values():
        earned = facts.sum_or_none(None if of is None else of[0] for of in mine.values())
        if total and earned is not None:
            mine[total] = earned, sum(best.values())
    return {
        student: {name: of for name, of in mine.items() if of is not None}
        for student, mine in points.items()
    }


def _columns(head: Sequence[str]) -> dict[str, int]:
    """Where each assignment stands, by its name without Canvas's number."""
    return {_NUMBER.sub("", name): i for i, name in enumerate(head) if _NUMBER.search(name)}


def _names(head: Sequence[str], row: Sequence[str]) -> list[str]:
    """What a student may be known by."""
    return [row[head.index(c)].strip().casefold() for c in _LOGINS if c in head]


def _most(possible: Sequence[str] | None, column: int) -> Fraction | None:
    try:
        return Fraction(possible[column].strip()) if possible else None
    except (ValueError, ZeroDivisionError):
        return None


def _scaled(earned: int, most: int, possible: Fraction | None) -> str:
    """Points as Canvas counts them, with at most two digits behind the point."""
    value = Fraction(earned) if not (possible and most) else possible * earned / most
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
