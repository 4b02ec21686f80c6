"""`grader export`: a class's results for other systems."""

from __future__ import annotations

import csv
import hashlib
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options
from grader.cli.deliver import deliver, log_message, make_folder
from grader.model import UsageError, counted, save_file, texts

if TYPE_CHECKING:
    from grader.model import Attempt
    from grader.reports import Document, Filled


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


class Counting(StrEnum):
    """The attempt that counts, of several: gradebook.Keep, which is imported only when needed."""

    BEST = "best"
    LAST = "last"


UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
# These formats list every attempt; the others take one for each exercise.
_ALL_ATTEMPTS = (Exported.CSV_LONG, Exported.RESULT, Exported.ATTEMPT)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Results, attempts, or folders of them.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Write here, not to standard output. For gradescope and several students: a folder.",
    ),
]
Trust = Annotated[
    list[Path] | None,
    typer.Option(metavar="PUBLIC.pem", help="Take only results signed with this key; repeatable."),
]
Total = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="For canvas, blackboard and moodle: the column for the sum, on its scale.",
    ),
]
Gradebook = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="For canvas and blackboard: the gradebook they exported."),
]
Kept = Annotated[
    Counting, typer.Option(help="The attempt that counts, of several at one exercise.")
]
Named = Annotated[
    By | None,
    typer.Option(help="For moodle: the user field that logins are; by default the fitting one."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="List all that a gradebook leaves out.")]

# The formats with a sum in a column of its own, and of these those that fill a given gradebook.
_WITH_TOTAL = (Exported.CANVAS, Exported.BLACKBOARD, Exported.MOODLE)
_FILLED = (Exported.CANVAS, Exported.BLACKBOARD)


def export(
    form: Annotated[Exported, typer.Argument(metavar="FORMAT", show_default=False)],
    files: Files,
    out: Out = None,
    gradebook: Gradebook = None,
    total: Total = "",
    by: Named = None,
    keep: Kept = Counting.BEST,
    trust: Trust = None,
    decisions: options.Decided = None,
    verbose: Verbose = False,
) -> None:
    """Write a class's results for other systems, or pack a course for Gradescope."""
    _require_fitting(form, gradebook, total, by)
    if form is Exported.GRADESCOPE_ZIP:
        _export_zip(files, out)
        return
    from grader.classroom import context_of
    from grader.classroom import gradebook as grades
    from grader.classroom.board import decisions as decided
    from grader.course import catalog
    from grader.reports import Context, Report

    context = context_of(catalog.find_root(), trust or (), datetime.now(UTC))
    reasons = decided.reasons(decisions)
    collected = grades.read(files, context)
    attempts = grades.decided(collected.attempts, reasons)
    notes = [*_invalidated(attempts, reasons)]
    notes += decided.unknown(decisions, reasons, {attempt.id for attempt in attempts})
    if form not in _ALL_ATTEMPTS:
        attempts = grades.chosen(attempts, grades.Keep(keep.value), reasons)
    if not attempts:
        _log_left_out(collected.problems)
        raise _nothing_to_export(signed=bool(trust))
    gaps: list[Gap] = []
    if gradebook is not None:
        documents, gaps = _for_gradebook(form, gradebook, attempts, total, out)
    elif form is Exported.MOODLE:
        documents = [_for_moodle(attempts, by, total, out)]
    elif form is Exported.GRADESCOPE:
        documents = _for_gradescope(attempts, out)
    else:
        documents = list(Report(form.value, out).make(attempts, Context()))
    if gradebook is not None and not verbose:
        _log(_in_short(gaps, collected.problems))
    else:
        _log_left_out([*collected.problems, *(line for gap in gaps for line in gap.lines)])
    _log(f"note: {note}" for note in notes)
    deliver(documents)
    raise typer.Exit(int(bool(collected.problems)))


@dataclass(frozen=True)
class Gap:
    """Something that a gradebook lacks: its count in words, an example, and a line for each."""

    words: str
    example: str
    lines: tuple[str, ...]


def _in_short(gaps: Sequence[Gap], problems: Sequence[str]) -> Iterator[str]:
    parts = [f"{counted(len(problems), 'texts')} that cannot be used"] if problems else []
    parts += [f"{gap.words}, such as {gap.example}" for gap in gaps]
    if parts:
        yield f"left out: {'; '.join(parts)}"
        yield "next: --verbose lists all of them; a column is found by the name of its exercise"


def _invalidated(attempts: Sequence[Attempt], reasons: Collection[str]) -> Iterator[str]:
    for attempt in attempts:
        if attempt.id in reasons:
            whose = f"{attempt.student}, {attempt.result.exercise}"
            yield f"{whose}: {attempt.id} counts 0 points. {attempt.result.message}"


def _require_fitting(form: Exported, gradebook: Path | None, total: str, by: By | None) -> None:
    if form in _FILLED and gradebook is None:
        system = form.value.capitalize()
        raise UsageError(
            f"The format {form} needs the gradebook that it fills.",
            f"Export the gradebook in {system}, and give --gradebook FILE.",
        )
    for option, given, forms in (
        ("--gradebook", gradebook is not None, _FILLED),
        ("--total", bool(total), _WITH_TOTAL),
        ("--by", by is not None, (Exported.MOODLE,)),
    ):
        if given and form not in forms:
            names = " or ".join(forms)
            raise UsageError(
                f"{option} belongs to the format {names}, not to {form}.",
                f"Leave {option} out, or export {names}.",
            )


def _log_left_out(problems: Sequence[str]) -> None:
    _log(f"left out: {problem}" for problem in problems)


def _log(lines: Iterable[str]) -> None:
    for line in lines:  # names of files are hostile text, too
        log_message(texts.one_line(line, 500))


def _nothing_to_export(signed: bool) -> UsageError:
    expected = "attempts signed with this key" if signed else "results or attempts"
    more = "" if signed else "; for signed ones give --trust PUBLIC.pem, too"
    return UsageError("There is nothing to export.", f"Name files of {expected}{more}.")


def _for_moodle(
    attempts: Sequence[Attempt], by: By | None, total: str, out: Path | None
) -> Document:
    from grader.reports import Document
    from grader.reports.formats import moodle

    identity = None if by is None else moodle.Identity(by.value)
    return Document(out, moodle.document(attempts, identity, total))


def _for_gradebook(
    form: Exported, gradebook: Path, attempts: Sequence[Attempt], total: str, out: Path | None
) -> tuple[list[Document], list[Gap]]:
    """Return the filled gradebook, and the students and exercises that it lacks.

    Raises UsageError where not one cell can be filled.
    """
    from grader.reports import Document

    filled = _filled(form, gradebook, attempts, total)
    if not filled.cells:
        raise UsageError(
            f"The gradebook {gradebook} has no place for any of these results.",
            "Name its columns after the exercises, such as "
            f"{attempts[0].result.exercise}, and check that its students are those of the results.",
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
    return [Document(out, filled.text)], gaps


def _filled(form: Exported, gradebook: Path, attempts: Sequence[Attempt], total: str) -> Filled:
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
        return fill(text, attempts, total)
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
    folders = {student: out / _folder_name(student) for student in by_student}
    for folder in (out, *folders.values()):
        make_folder(folder)
    return [
        Document(folders[student] / "results.json", gradescope.document(theirs))
        for student, theirs in by_student.items()
    ]


def _folder_name(student: str) -> str:
    """Return the student's name if it is safe as a folder's name, else a safe and unique one."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,80}", student):
        return student
    digest = hashlib.sha256(student.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', student)[:40]}-{digest}"


def _export_zip(files: Sequence[Path], out: Path | None) -> None:
    from grader.classroom import autograder_zip

    if len(files) != 1 or out is None:
        raise UsageError(
            "gradescope-zip packs one released course into one file.",
            "Run `grader export gradescope-zip RELEASE --out autograder.zip`.",
        )
    save_file(out, autograder_zip(files[0]))
    log_message(f"{out}: written; upload it to Gradescope as the autograder")
