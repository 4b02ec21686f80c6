"""An instructor's changes: a CSV file with the columns login, exercise, points and comment.

    login,exercise,points,comment
    ada,04_online_softmax,+2,a fine idea
    bob,,,"please come to my office"

A number in `points` sets the points of an exercise; a number with a sign changes them. A line
without points is a comment.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from grader.classroom.policy.records import Manual
from grader.model import ClassRun, UsageError, login_of, quoted, texts

COLUMNS = ("login", "exercise", "points", "comment")
LARGEST = 8 << 20  # bytes of a file
LONGEST = 2000  # characters of a comment
_QUOTING = "quote a comment with commas, and write decimals with a point, as in 2.5"
_POINTS = re.compile(r"([+\-\u2212]?)(\d{1,6}(?:[.,]\d{1,6})?)")


@dataclass(frozen=True)
class Changes:
    """The lines that can be used, and a sentence for each of the others."""

    lines: tuple[Manual, ...]
    problems: tuple[str, ...]


def read(path: Path, run: ClassRun) -> Changes:
    """Read the file for a class run, whose students and exercises it names.

    Raises UsageError for a file that cannot be read, or has not the columns.
    """
    logins = {login_of(row.student): row.student for row in run.rows}
    lines: list[Manual] = []
    problems: list[str] = []
    set_at: dict[tuple[str, str], int] = {}
    for number, entries, more in _entries(path):
        try:
            if more:  # an unquoted comma moved what stands behind it
                raise ValueError(f"it has more cells than the file has columns: {_QUOTING}")
            one = _manual(number, entries, logins, run.exercises)
            key = (one.student, one.exercise)
            if one.points is not None and set_at.setdefault(key, number) != number:
                raise ValueError(f"line {set_at[key]} sets these points already, and counts")
        except ValueError as error:
            problems.append(f"{path.name}, line {number}: {error}")
        else:
            lines.append(one)
    return Changes(tuple(lines), tuple(problems))


def _entries(path: Path) -> Iterator[tuple[int, Mapping[str, str], bool]]:
    # With each line's number and cells: whether it has more cells than there are columns.
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}.", _next_step()) from None
    if len(content) > LARGEST:
        raise UsageError(f"{path} is longer than {LARGEST:,} bytes.", _next_step())
    # Not strict, a quote that is never closed would make all lines behind it one comment.
    reader = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    begins = 1
    try:
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        missing = [name for name in COLUMNS[:3] if name not in reader.fieldnames]
        if missing:
            raise UsageError(f"{path} has no column {missing[0]!r}.", _next_step())
        begins = reader.line_num + 1
        for entries in reader:
            known = {name: (entries.get(name) or "").strip() for name in COLUMNS}
            if any(known.values()):
                yield reader.line_num, known, reader.restkey in entries
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UsageError(
            f"{path}, line {begins} is no CSV: {error}.",
            f"Look for a quote there that is not closed. {_next_step()}",
        ) from None


def _next_step() -> str:
    return f"Give a CSV file in UTF-8 whose first line is {','.join(COLUMNS)}."


def _manual(
    number: int, entries: Mapping[str, str], logins: Mapping[str, str], exercises: Sequence[str]
) -> Manual:
    login, exercise = entries["login"], entries["exercise"]
    student = logins.get(login_of(login))
    if student is None:
        raise ValueError(f"the class has no student {quoted(login)}")
    comment = texts.clean_line(entries["comment"], LONGEST)
    points, change = _points(entries["points"])
    if exercise:
        exercise = _exercise(exercise, exercises)
    elif points is not None or change:
        raise ValueError("points belong to an exercise, and none is named")
    if not comment and points is None and not change:
        raise ValueError("it has neither points nor a comment")
    if comment.isdecimal() and entries["points"]:
        raise ValueError(f"its comment is the number {comment}: {_QUOTING}")
    return Manual(student, exercise, points, change, comment, number)


def _exercise(name: str, exercises: Collection[str]) -> str:
    found = [one for one in exercises if name in (one, one.partition("_")[0])]
    if len(found) != 1:
        raise ValueError(f"the class run graded no exercise {quoted(name)}")
    return found[0]


def _points(text: str) -> tuple[Fraction | None, Fraction]:
    """Return the points that are set, or None and the change."""
    if not text:
        return None, Fraction(0)
    # A spreadsheet keeps a sign only behind an apostrophe.
    found = _POINTS.fullmatch(text.removeprefix("'").replace(" ", ""))
    if found is None:
        raise ValueError(f"{quoted(text)} is not a number of points, such as 7, +2 or -1.5")
    number = Fraction(found[2].replace(",", "."))
    if not found[1]:
        return number, Fraction(0)
    return None, number if found[1] == "+" else -number
