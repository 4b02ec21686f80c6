"""The wishes of students for the board: a nickname, or not to be on it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.model import UsageError, login_of, quoted

YES, NO = ("yes", "true", "1", "x"), ("", "no", "false", "0")
_COLUMNS = "Its first line is student,nickname,hidden; the last two may be empty below it."


@dataclass(frozen=True)
class Wish:
    """The wish of one student."""

    nickname: str = ""
    hidden: bool = False


def wishes(path: Path) -> dict[str, Wish]:
    """Read a CSV file with the columns student, nickname, hidden. Raises UsageError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _wishes(path, csv.DictReader(file, strict=True))
    except OSError as error:
        raise UsageError(
            f"The file {path} cannot be read: {error.strerror}.", "Name a CSV file."
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is no CSV file in UTF-8: {error}.", _COLUMNS) from None


def _columns(path: Path, names: Sequence[str]) -> list[str]:
    """Return the names of the columns. Raises UsageError.

    An unknown column is an error: it might be a misspelt wish to be hidden.
    """
    columns = [name.strip().casefold() for name in names]
    if "student" not in columns or not {"nickname", "hidden"} & set(columns):
        raise UsageError(f"{path} does not say who wants what.", _COLUMNS)
    for number, column in enumerate(columns):
        if column not in ("student", "nickname", "hidden"):
            raise UsageError(
                f"{path} has a column that is not read: {quoted(names[number])}.", _COLUMNS
            )
        if column in columns[:number]:
            raise UsageError(f"{path} has the column {column} twice.", "Keep one of the two.")
    return columns


def _wishes(path: Path, rows: csv.DictReader[str]) -> dict[str, Wish]:
    rows.fieldnames = _columns(path, rows.fieldnames or ())
    by_student: dict[str, Wish] = {}
    seen: set[str] = set()
    for row in rows:
        student = (row["student"] or "").strip()
        hidden = (row.get("hidden") or "").strip().lower()
        where = f"{path}, line {rows.line_num}"
        if rows.restkey in row:
            raise UsageError(f"{where} has more cells than there are columns.", _COLUMNS)
        if not student:
            raise UsageError(f"{where} names no student.", _COLUMNS)
        if login_of(student) in seen:
            raise UsageError(f"{where}: {quoted(student)} has two lines.", "Keep one of them.")
        if hidden not in YES + NO:
            raise UsageError(
                f"{where}: hidden is {quoted(hidden)}.", f"Write {YES[0]}, or leave it empty."
            )
        seen.add(login_of(student))
        by_student[student] = Wish((row.get("nickname") or "").strip(), hidden in YES)
    return by_student
