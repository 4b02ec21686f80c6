"""The documents that `grader export` writes, in each format, and what a given gradebook lacks."""

from __future__ import annotations

import csv
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.deliver import file_name, make_folder
from grader.model import UsageError, counted

if TYPE_CHECKING:
    from grader.model import Attempt
    from grader.reports import Document, Filled
    from grader.reports.formats.scores import Graded


class Exported(StrEnum):
    """A format of `grader export`."""

    CSV_LONG = "csv-long"
    CSV_WIDE = "csv-wide"
    CANVAS = "canvas"
    MOODLE = "moodle"
    BLACKBOARD = "blackboard"
    JUNIT = "junit"
    GRADESCOPE = "gradescope"
    RESULT = "result"
    ATTEMPT = "attempt"
    GRADESCOPE_ZIP = "gradescope-zip"


class By(StrEnum):
    """The user field that logins are: moodle.Identity, which is imported only when needed."""

    EMAIL = "email"
    USERNAME = "username"
    IDNUMBER = "idnumber"


UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
# The formats with a sum in a column of its own, and of these those that fill a given gradebook.
WITH_TOTAL = (Exported.CANVAS, Exported.BLACKBOARD, Exported.MOODLE)
FILLED = (Exported.CANVAS, Exported.BLACKBOARD)


@dataclass(frozen=True)
class Asked:
    """The order of a command line."""

    form: Exported
    out: Path | None
    gradebook: Path | None
    by: By | None
    total: str


@dataclass(frozen=True)
class Gap:
    """Something that a gradebook lacks: its count in words, an example, and a line for each."""

    words: str
    example: str
    lines: tuple[str, ...]


def documents(
    asked: Asked, attempts: Sequence[Attempt]
) -> tuple[Sequence[Document], Sequence[Gap]]:
    from grader.reports import Context, Report

    if asked.form in WITH_TOTAL:
        return for_gradebook(asked, attempts)
    if asked.form is Exported.GRADESCOPE:
        return _for_gradescope(attempts, asked.out), []
    return Report(asked.form.value, asked.out).make(attempts, Context()), []


def for_gradebook(asked: Asked, of_class: Graded) -> tuple[Sequence[Document], Sequence[Gap]]:
    """Return the filled gradebook, or Moodle's file, and the students and exercises that it lacks.

    Raises UsageError where not one cell can be filled.
    """
    from grader.reports import Document
    from grader.reports.formats import moodle

    gradebook = asked.gradebook
    if gradebook is None:
        identity = None if asked.by is None else moodle.Identity(asked.by.value)
        return [Document(asked.out, moodle.document(of_class, identity, asked.total))], []
    filled = _filled(asked.form, gradebook, of_class, asked.total)
    if not filled.cells:
        raise UsageError(
            f"The gradebook {gradebook} has no place for any of these results.",
            "Name its columns after the exercises, such as "
            f"{filled.unknown_exercises[0]}, and check that its students are those of the results."
            if filled.unknown_exercises
            else "Check that its students are those of the results.",
        )
    gaps = [
        Gap(
            f"{counted(len(names), kind)} without a {place}",
            names[0],
            tuple(f"{gradebook}: it has no {place} for {one}{name}" for name in names),
        )
        for kind, place, one, names in (
            ("students", "row", "the student ", filled.unknown_students),
            ("exercises", "column", "", filled.unknown_exercises),
        )
        if names
    ]
    return [Document(asked.out, filled.text)], gaps


def _filled(form: Exported, gradebook: Path, of_class: Graded, total: str) -> Filled:
    from grader.reports.formats import blackboard, canvas

    system = form.value.capitalize()
    fill = canvas.fill if form is Exported.CANVAS else blackboard.fill
    try:
        data = gradebook.read_bytes()
        text = data.decode("utf-16" if data[:2] in UTF_16 else "utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"The gradebook {gradebook} cannot be read: {reason}.",
            f"Give the file as {system} exported it. If a spreadsheet saved it since, save it "
            "again as CSV in UTF-8.",
        ) from None
    try:
        return fill(text, of_class, total)
    except csv.Error as error:
        raise UsageError(
            f"The gradebook {gradebook} cannot be read as CSV: {error}.",
            f"Export it from {system} again, and give that file unchanged.",
        ) from None


def _for_gradescope(attempts: Sequence[Attempt], out: Path | None) -> list[Document]:
    from grader.reports import Document
    from grader.reports.formats import gradescope

    by_student: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_student.setdefault(attempt.student, []).append(attempt)
    if len(by_student) == 1 and (out is None or not os.path.isdir(out)):
        return [Document(out, gradescope.document(attempts))]
    students = f"There are {len(by_student)} students, and Gradescope reads one file for each"
    if out is None:
        raise UsageError(f"{students}.", "Give --out DIR.")
    if os.path.isfile(out):
        raise UsageError(
            f"{students}, but {out} is a file, not a folder.",
            "Give --out DIR, a folder or a new name; or move that file away.",
        )
    folders = {student: out / file_name(student) for student in by_student}
    for folder in (out, *folders.values()):
        make_folder(folder)
    return [
        Document(folders[student] / "results.json", gradescope.document(theirs))
        for student, theirs in by_student.items()
    ]
