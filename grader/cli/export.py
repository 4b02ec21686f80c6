"""`grader export`: a class's results for other systems."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import graded, options
from grader.cli.deliver import deliver, file_name, log_message, make_folder
from grader.model import UsageError, save_file

if TYPE_CHECKING:
    from grader.classroom.policy.graded_class import GradedClass
    from grader.model import Attempt
    from grader.reports import Document, Filled
    from grader.reports.formats.scores import Graded


class Exported(StrEnum):
    """A format of `grader export`."""

    CSV_LONG = "csv-long"
    CSV_WIDE = "csv-wide"
    CANVAS = "canvas"
    JUNIT = "junit"
    GRADESCOPE = "gradescope"
    RESULT = "result"
    ATTEMPT = "attempt"
    GRADESCOPE_ZIP = "gradescope-zip"


class Counting(StrEnum):
    """The attempt that counts, of several: gradebook.Keep, which is imported only when needed."""

    BEST = "best"
    LAST = "last"


_log = graded.log
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
Total = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="For canvas: the column for the sum, scaled to its Points Possible.",
    ),
]


def export(
    form: Annotated[Exported, typer.Argument(metavar="FORMAT", show_default=False)],
    files: Files,
    out: Out = None,
    gradebook: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="For canvas: the gradebook that Canvas exported."),
    ] = None,
    total: Total = "",
    keep: Annotated[
        Counting, typer.Option(help="The attempt that counts, of several at one exercise.")
    ] = Counting.BEST,
    trust: graded.Trust = None,
    decisions: options.Decided = None,
    manual: graded.ManualFile = None,
) -> None:
    """Write a class's results for other systems, or pack a course for Gradescope."""
    _require_fitting(form, gradebook, total)
    if form is Exported.GRADESCOPE_ZIP:
        _export_zip(files, out)
        return
    if (folder := _graded_class(files, manual)) is not None:
        found = graded.read(folder, manual, trust, decisions)
        documents, missing = _of_class(form, found, gradebook, total, out)
        _log_left_out(missing)
        deliver(documents)
        raise typer.Exit(int(bool(missing or found.problems)))
    from grader.classroom import context_of
    from grader.classroom import gradebook as grades
    from grader.classroom.board import decisions as decided
    from grader.course import catalog
    from grader.reports import Context, Report

    context = context_of(catalog.find_root(), trust or (), datetime.now(UTC))
    reasons = decided.reasons(decisions)
    collected = grades.read(files, context)
    left_out = list(collected.problems)
    attempts = grades.decided(collected.attempts, reasons)
    notes = [*_invalidated(attempts, reasons)]
    notes += decided.unknown(decisions, reasons, {attempt.id for attempt in attempts})
    if form not in _ALL_ATTEMPTS:
        attempts = grades.chosen(attempts, grades.Keep(keep.value), reasons)
    if not attempts:
        _log_left_out(left_out)
        raise _nothing_to_export(signed=bool(trust))
    if gradebook is not None:
        documents, missing = _for_canvas(gradebook, attempts, total, out)
        left_out += missing
    elif form is Exported.GRADESCOPE:
        documents = _for_gradescope(attempts, out)
    else:
        documents = list(Report(form.value, out).make(attempts, Context()))
    _log_left_out(left_out)
    _log(f"note: {note}" for note in notes)
    deliver(documents)
    raise typer.Exit(int(bool(left_out)))


def _graded_class(files: Sequence[Path], manual: Path | None) -> Path | None:
    """Return the folder of `grader grade` that is exported, or None for results and attempts."""
    from grader.classroom.policy import graded_class

    folders = [path for path in files if graded_class.is_one(path)]
    if folders and len(files) > 1:
        raise UsageError(
            f"{folders[0]} is a graded class, which is exported alone.",
            "Leave out the other files, or name its folder attempts/ for the attempts themselves.",
        )
    if manual is not None and not folders:
        raise UsageError(
            "--manual changes the grades of a graded class, and none is given.",
            "Give the folder that `grader grade` made.",
        )
    return folders[0] if folders else None


def _of_class(
    form: Exported, found: GradedClass, gradebook: Path | None, total: str, out: Path | None
) -> tuple[list[Document], list[str]]:
    """Return a class's documents with its final grades, and what has no place in them."""
    from grader.reports import Context, Document, Report
    from grader.reports.formats import tables

    if not found.rows:
        raise _nothing_to_export(signed=False)
    if gradebook is not None:
        return _for_canvas(gradebook, found.rows, total, out)
    if form is Exported.CSV_WIDE:
        return [Document(out, tables.final_wide(found.rows))], []
    if form is Exported.CSV_LONG:
        return [Document(out, tables.final_long(found.rows, found.attempts))], []
    attempts = found.attempts_in_order()
    if not attempts:
        raise _nothing_to_export(signed=False)
    if any(row.deductions for row in found.rows):
        _log([f"note: {form} holds the points of the checks, without deductions and changes"])
    if form is Exported.GRADESCOPE:
        return _for_gradescope(attempts, out), []
    return list(Report(form.value, out).make(attempts, Context())), []


def _invalidated(attempts: Sequence[Attempt], reasons: Collection[str]) -> Iterator[str]:
    for attempt in attempts:
        if attempt.id in reasons:
            whose = f"{attempt.student}, {attempt.result.exercise}"
            yield f"{whose}: {attempt.id} counts 0 points. {attempt.result.message}"


def _require_fitting(form: Exported, gradebook: Path | None, total: str) -> None:
    if form is Exported.CANVAS:
        if gradebook is None:
            raise UsageError(
                "The format canvas needs the gradebook that it fills.",
                "Export the gradebook in Canvas, and give --gradebook FILE.",
            )
        return
    for option, given in (("--gradebook", gradebook is not None), ("--total", bool(total))):
        if given:
            raise UsageError(
                f"{option} belongs to the format canvas, not to {form}.",
                f"Leave {option} out, or export canvas.",
            )


def _log_left_out(problems: Sequence[str]) -> None:
    _log(f"left out: {problem}" for problem in problems)


def _nothing_to_export(signed: bool) -> UsageError:
    expected = "attempts signed with this key" if signed else "results or attempts"
    more = "" if signed else "; for signed ones give --trust PUBLIC.pem, too"
    return UsageError("There is nothing to export.", f"Name files of {expected}{more}.")


def _for_canvas(
    gradebook: Path, of_class: Graded, total: str, out: Path | None
) -> tuple[list[Document], list[str]]:
    """Return the filled gradebook, and the students and exercises that it lacks, in words."""
    from grader.reports import Document

    filled = _filled(gradebook, of_class, total)
    missing = [
        f"{gradebook}: it has no row for the student {name}" for name in filled.unknown_students
    ]
    missing += [f"{gradebook}: it has no column for {name}" for name in filled.unknown_exercises]
    return [Document(out, filled.text)], missing


def _filled(gradebook: Path, of_class: Graded, total: str) -> Filled:
    from grader.reports.formats import canvas

    try:
        text = gradebook.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"The gradebook {gradebook} cannot be read: {reason}.",
            "Give the file as Canvas exported it. If a spreadsheet saved it since, save it again "
            "as CSV in UTF-8.",
        ) from None
    try:
        return canvas.fill(text, of_class, total)
    except csv.Error as error:
        raise UsageError(
            f"The gradebook {gradebook} cannot be read as CSV: {error}.",
            "Export it from Canvas again, and give that file unchanged.",
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


def _export_zip(files: Sequence[Path], out: Path | None) -> None:
    from grader.classroom import autograder_zip

    if len(files) != 1 or out is None:
        raise UsageError(
            "gradescope-zip packs one released course into one file.",
            "Run `grader export gradescope-zip RELEASE --out autograder.zip`.",
        )
    save_file(out, autograder_zip(files[0]))
    log_message(f"{out}: written; upload it to Gradescope as the autograder")
