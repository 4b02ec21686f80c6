"""Canvas's gradebook: points filled into the CSV file that Canvas exported, and nothing else there.

The file's first row names its columns: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`,
then assignments as `Title (number)`. A row whose first cell is `Points Possible` follows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence

from grader.model import UsageError
from grader.reports.formats.gradebooks import Filled, possible_points, scaled
from grader.reports.formats.scores import Graded, scores

_LOGINS = ("SIS Login ID", "SIS User ID", "Integration ID", "ID")
_NUMBER = re.compile(r" \(\d+\)$")


def fill(gradebook: str, graded: Graded, total: str = "") -> Filled:
    """Put each student's points into the columns named as the exercises.

    `total` names a column for the sum over all exercises, with Canvas's number or without. If
    Canvas counts another number of points than the exercise, or than all exercises together, points
    are scaled. Raises UsageError for a file that is not a gradebook and for two columns of one
    name, csv.Error for a file that is not CSV.
    """
    rows = list(csv.reader(io.StringIO(gradebook.removeprefix("\ufeff"))))
    head, possible = _heading_rows(rows)
    of_class = scores(graded)
    placed = _columns_to_fill(head, of_class.exercises, total)
    known: set[str] = set()
    cells = 0
    for row in rows[1:]:
        student = next(filter(None, map(of_class.student_of, _logins(head, row))), None)
        if student is None or row is possible:
            continue
        known.add(student)
        points = of_class.with_total(student, total)
        for name, column in placed.items():
            if name in points:
                most = possible_points(possible[column]) if possible else None
                row[column] = scaled(*points[name], most)
                cells += 1
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return Filled(
        text.getvalue(),
        cells,
        tuple(sorted(login.casefold() for login in of_class.points.keys() - known)),
        tuple(sorted(of_class.exercises - placed.keys())),
    )


def _heading_rows(rows: Sequence[list[str]]) -> tuple[list[str], list[str] | None]:
    if not rows or "Student" not in rows[0] or not set(_LOGINS) & set(rows[0]):
        raise UsageError(
            "The gradebook is not a file that Canvas exported: its first row names no `Student`.",
            "In Canvas choose Grades, Export, Export Entire Gradebook; give that file unchanged.",
        )
    width = len(rows[0])
    for row in rows:
        row += [""] * (width - len(row))
    marked = (row for row in rows[1:4] if row[0].strip() == "Points Possible")
    return rows[0], next(marked, None)


def _columns_to_fill(head: Sequence[str], exercises: Collection[str], total: str) -> dict[str, int]:
    """Return the columns to fill, by the exercise's name, and by `total` the column of the sum."""
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
            f"The gradebook's column {head[column]!r} belongs to an exercise: it cannot hold the "
            "sum.",
            "Name another column in --total.",
        )
    return {**placed, total: column}


def _column(head: Sequence[str], name: str, fix: str) -> int | None:
    """Return the column of the assignment, or None; `name` may lack Canvas's number.

    Raises UsageError with the next step `fix` if several columns match.
    """
    matches = [
        (number, title)
        for number, title in enumerate(head)
        if _NUMBER.search(title) and name in (title, _NUMBER.sub("", title))
    ]
    if len(matches) > 1:
        titles = " and ".join(repr(title) for _, title in matches)
        raise UsageError(f"The gradebook has {len(matches)} columns named {name!r}: {titles}.", fix)
    return matches[0][0] if matches else None


def _logins(head: Sequence[str], row: Sequence[str]) -> list[str]:
    return [row[head.index(c)] for c in _LOGINS if c in head]
