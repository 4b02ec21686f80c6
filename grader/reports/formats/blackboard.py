"""Blackboard's grade centre: points for the columns of a file that it downloaded, to be uploaded.

A student's `Username` and a column's number find the place of a grade; a column without a number
would become a new one, of text. The header of a column reads `Title [Total Pts: 10 Score] |12345`:
help.blackboard.com, "Work Offline with Grade Data". A file with tabs is UTF-16 or UTF-8.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.model import UsageError
from grader.reports.formats.gradebooks import Filled, possible_points, scaled
from grader.reports.formats.scores import Graded, scores

_USER = "Username"
_HEADER = re.compile(r"(?P<title>.*?)(?: \[Total Pts: (?P<most>[^\]]*?)(?: [^\]\d]*)?\])? *\|\d+")


@dataclass(frozen=True)
class _Column:
    header: str
    title: str
    possible: Fraction | None


def fill(gradebook: str, graded: Graded, total: str = "") -> Filled:
    """Return a file of the columns that are named as exercises, with each student's points.

    It has the students of the gradebook who have points, and no other column: what is not uploaded
    stays as it is. `total` names a column for the sum over all exercises. Points are scaled to the
    column's. Raises UsageError for a file that is not a gradebook and for two columns of one name,
    csv.Error for a file that is not CSV.
    """
    dialect = "excel-tab" if "\t" in gradebook.partition("\n")[0] else "excel"
    rows = list(csv.reader(io.StringIO(gradebook.removeprefix("\ufeff")), dialect))
    head = rows[0] if rows else []
    if _USER not in head:
        raise UsageError(
            "The gradebook is not a file that Blackboard downloaded: its first row has no "
            f"`{_USER}`.",
            "In Blackboard choose Work Offline, Download, Full Grade Center, and give that file.",
        )
    columns = [column for header in head if (column := _column(header))]
    of_class = scores(graded)
    exercises = of_class.exercises
    placed = {name: found for name in sorted(exercises) if (found := _find(columns, name))}
    if total:
        placed[total] = _for_total(columns, total, placed.values())
    text = io.StringIO()
    writer = csv.writer(text, dialect, quoting=csv.QUOTE_ALL)
    writer.writerow([_USER, *(column.header for column in placed.values())])
    known: set[str] = set()
    filled = 0
    for row in rows[1:]:
        user = row[head.index(_USER)].strip() if len(row) > head.index(_USER) else ""
        if (login := of_class.student_of(user)) is None:
            continue
        known.add(login)
        mine = of_class.with_total(login, total)
        cells = [
            scaled(*mine[name], column.possible) if name in mine else ""
            for name, column in placed.items()
        ]
        filled += sum(map(bool, cells))
        writer.writerow([user, *cells])
    return Filled(
        text.getvalue(),
        filled,
        tuple(sorted(of_class.points.keys() - known)),
        tuple(sorted(exercises - set(placed))),
    )


def _column(header: str) -> _Column | None:
    found = _HEADER.fullmatch(header.strip())
    if found is None:
        return None
    return _Column(header, found["title"].strip(), possible_points(found["most"] or ""))


def _find(columns: Sequence[_Column], name: str) -> _Column | None:
    matches = [column for column in columns if name in (column.title, column.header)]
    if len(matches) > 1:
        headers = " and ".join(repr(column.header) for column in matches)
        raise UsageError(
            f"The gradebook has {len(matches)} columns named {name!r}: {headers}.",
            "In Blackboard rename all but one, and download the grade center again.",
        )
    return matches[0] if matches else None


def _for_total(columns: Sequence[_Column], total: str, taken: Collection[_Column]) -> _Column:
    column = _find(columns, total)
    if column is None:
        titles = ", ".join(column.title for column in columns)
        raise UsageError(
            f"The gradebook has no column {total!r}.", f"It has {titles or 'none with a number'}."
        )
    if column in taken:
        raise UsageError(
            f"The gradebook's column {column.title!r} belongs to an exercise: it cannot hold the "
            "sum.",
            "Name another column in --total.",
        )
    return column
