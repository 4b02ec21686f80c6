"""Canvas's gradebook: points filled into the CSV file that Canvas exported, and nothing else there.

The file's first row names its columns: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`,
then assignments as `Title (number)`. A row whose first cell is `Points Possible` follows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.model import Attempt, UsageError
from grader.reports.formats import facts

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

    `total` names a column for the sum over all exercises, with Canvas's number or without. Points
    are scaled where Canvas counts another number of them than the exercise, or than all exercises
    together. Raises UsageError for a file that is no gradebook, and where two columns have a name
    that is looked for; csv.Error for a file that is no CSV.
    """
    rows = list(csv.reader(io.StringIO(gradebook.removeprefix("\ufeff"))))
    head, possible = _head(rows)
    points = _points(attempts, total)
    exercises = {a.result.exercise for a in attempts}
    placed = _placed(head, exercises, total)
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


def _placed(head: Sequence[str], exercises: Collection[str], total: str) -> dict[str, int]:
    """The columns to fill: by exercise, as far as there is one, and by `total` that of the sum."""
    rename = "In Canvas rename all but one, and export the gradebook again."
    columns = {name: _column(head, name, rename) for name in sorted(exercises)}
    placed = {name: column for name, column in columns.items() if column is not None}
    if not total:
        return placed
    column = _column(head, total, "Give --total one of them with its number.")
    if column is None:
        titles = ", ".join(filter(_NUMBER.search, head))
        raise UsageError(
            f"The gradebook has no column {total!r}.",
            f"It has {titles or 'none for an assignment'}.",
        )
    if column in placed.values():
        raise UsageError(
            f"The gradebook's column {head[column]!r} is that of an exercise, and of no sum.",
            "Name another one in --total.",
        )
    return {**placed, total: column}


def _column(head: Sequence[str], name: str, mend: str) -> int | None:
    """Where the assignment of this name stands, which is given with Canvas's number or without.

    Raises UsageError, which says what to do as `mend` does, where several have it.
    """
    found = [
        (number, title)
        for number, title in enumerate(head)
        if _NUMBER.search(title) and name in (title, _NUMBER.sub("", title))
    ]
    if len(found) > 1:
        titles = " and ".join(repr(title) for _, title in found)
        raise UsageError(f"The gradebook has {len(found)} columns named {name!r}: {titles}.", mend)
    return found[0][0] if found else None


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
