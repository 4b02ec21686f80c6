"""`grader export`: the kept results of a class for other systems."""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options
from grader.cli.deliver import deliver, make_folder, tell
from grader.model import UsageError, save_file, texts

if TYPE_CHECKING:
    from grader.model import Attempt
    from grader.reports import Document, Filled


class Exported(StrEnum):
    """What `grader export` makes."""

    CSV_LONG = "csv-long"
    CSV_WIDE = "csv-wide"
    CANVAS = "canvas"
    JUNIT = "junit"
    GRADESCOPE = "gradescope"
    RESULT = "result"
    ATTEMPT = "attempt"
    GRADESCOPE_ZIP = "gradescope-zip"


class Counting(StrEnum):
    """Which of several attempts counts: kept.Keep, which is not imported before it is needed."""

    BEST = "best"
    LAST = "last"


# Those that have room for each attempt; in the others one counts for each exercise.
_ALL_ATTEMPTS = (Exported.CSV_LONG, Exported.RESULT, Exported.ATTEMPT)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Results, attempts, folders of them.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Write here, not to standard output; gradescope makes a folder of it for several "
        "students, and fills one that is there.",
    ),
]
Trust = Annotated[
    list[Path] | None,
    typer.Option(metavar="PUBLIC.pem", help="Take only what is signed with this key."),
]
Total = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="For canvas: the column for the sum, which is scaled to its Points Possible.",
    ),
]


def export(
    form: Annotated[Exported, typer.Argument(metavar="FORMAT", show_default=False)],
    files: Files,
    out: Out = None,
    gradebook: Annotated[
        Path | None, typer.Option(metavar="CSV", help="For canvas: the file that it exported.")
    ] = None,
    total: Total = "",
    keep: Annotated[
        Counting, typer.Option(help="Which of several attempts at one exercise counts.")
    ] = Counting.BEST,
    trust: Trust = None,
    decisions: options.Decided = None,
) -> None:
    """Turn the kept results of a class into what other systems read, or into their autograder."""
    _must_fit(form, gradebook, total)
    if form is Exported.GRADESCOPE_ZIP:
        _export_zip(files, out)
        return
    from grader.classroom import context_of
    from grader.classroom import gradebook as kept
    from grader.classroom.board import decisions as decided
    from grader.course import catalog
    from grader.reports import Context, Report

    context = context_of(catalog.find_root(), trust or (), datetime.now(UTC))
    reasons = decided.reasons(decisions)
    found = kept.read(files, context)
    told = list(found.problems)
    attempts = kept.decided(found.attempts, reasons)
    notes = [*_taken_back(attempts, reasons)]
    notes += decided.unknown(decisions, reasons, {attempt.id for attempt in attempts})
    if form not in _ALL_ATTEMPTS:
        attempts = kept.chosen(attempts, kept.Keep(keep.value), reasons)
    if not attempts:
        _tell_left_out(told)
        raise _nothing(signed=bool(trust))
    if gradebook is not None:
        documents, missing = _for_canvas(gradebook, attempts, total, out)
        told += missing
    elif form is Exported.GRADESCOPE:
        documents = _for_gradescope(attempts, out)
    else:
        documents = list(Report(form.value, out).make(attempts, Context()))
    _tell_left_out(told)
    _tell(f"note: {note}" for note in notes)
    deliver(documents)
    raise typer.Exit(int(bool(told)))


def _taken_back(attempts: Sequence[Attempt], reasons: Collection[str]) -> Iterator[str]:
    for attempt in attempts:
        if attempt.id in reasons:
            whose = f"{attempt.student}, {attempt.result.exercise}"
            yield f"{whose}: {attempt.id} counts 0 points. {attempt.result.message}"


def _must_fit(form: Exported, gradebook: Path | None, total: str) -> None:
    """Raises UsageError for options of another format, and for canvas without a gradebook."""
    if form is Exported.CANVAS:
        if gradebook is None:
            raise UsageError(
                "The format canvas fills a gradebook, and none is given.",
                "Export it in Canvas, and give --gradebook FILE.",
            )
        return
    for option, given in (("--gradebook", gradebook is not None), ("--total", bool(total))):
        if given:
            raise UsageError(
                f"{option} belongs to the format canvas, and {form} is asked for.",
                f"Leave {option} out, or export canvas.",
            )


def _tell_left_out(problems: Sequence[str]) -> None:
    _tell(f"left out: {problem}" for problem in problems)


def _tell(lines: Iterable[str]) -> None:

    for line in lines:  # names of files are hostile text, too
        tell(texts.one_line(line, 500))


def _nothing(signed: bool) -> UsageError:
    wanted = "attempts that are signed with this key" if signed else "results or attempts"
    more = "" if signed else "; for signed ones give --trust PUBLIC.pem, too"
    return UsageError("There is nothing to export.", f"Name files of {wanted}{more}.")


def _for_canvas(
    gradebook: Path, attempts: Sequence[Attempt], total: str, out: Path | None
) -> tuple[list[Document], list[str]]:
    """Return the filled gradebook, and what it has no row or column for."""
    from grader.reports import Document

    filled = _filled(gradebook, attempts, total)
    missing = [f"{gradebook}: it has no student {name}" for name in filled.unknown_students]
    missing += [f"{gradebook}: it has no column {name}" for name in filled.unknown_exercises]
    return [Document(out, filled.text)], missing


def _filled(gradebook: Path, attempts: Sequence[Attempt], total: str) -> Filled:
    from grader.reports.formats import canvas

    try:
        text = gradebook.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"The gradebook {gradebook} cannot be read: {why}.",
            "Give the file as Canvas exported it; a spreadsheet that saves it again must write "
            "CSV in UTF-8.",
        ) from None
    try:
        return canvas.fill(text, attempts, total)
    except csv.Error as error:
        raise UsageError(
            f"The gradebook {gradebook} is no CSV file that can be read: {error}.",
            "Export it in Canvas once more, and give that file unchanged.",
        ) from None


def _for_gradescope(attempts: Sequence[Attempt], out: Path | None) -> list[Document]:
    """A file for one student; for several, or where `out` is a folder, a folder for each in it."""
    from grader.reports import Document
    from grader.reports.formats import gradescope

    by_student: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_student.setdefault(attempt.student, []).append(attempt)
    if len(by_student) == 1 and (out is None or not os.path.isdir(out)):
        return [Document(out, gradescope.document(attempts))]
    students = f"There are {len(by_student)} students, and Gradescope reads a file for each"
    if out is None:
        raise UsageError(f"{students}.", "Give --out DIR.")
    if os.path.isfile(out):
        raise UsageError(
            f"{students}: {out} is a file, and a folder is needed.",
            "Give --out DIR, a folder or one that is not there yet; or move that file away.",
        )
    folders = {student: out / _folder_name(student) for student in by_student}
    for folder in (out, *folders.values()):
        make_folder(folder)
    return [
        Document(folders[student] / "results.json", gradescope.document(theirs))
        for student, theirs in by_student.items()
    ]


def _folder_name(student: str) -> str:
    """The student's name where that makes a folder's name, else one that tells it from others."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,80}", student):
        return student
    digest = hashlib.sha256(student.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', student)[:40]}-{digest}"


def _export_zip(files: Sequence[Path], out: Path | None) -> None:
    from grader.classroom import autograder_zip

    if len(files) != 1 or out is None:
        raise UsageError(
            "gradescope-zip packs one released course into one file.",
            "`grader export gradescope-zip RELEASE --out autograder.zip`.",
        )
    save_file(out, autograder_zip(files[0]))
    tell(f"{out}: written; upload it to Gradescope as the autograder")
