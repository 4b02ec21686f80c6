"""`grader export`: a class's results for other systems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import exported, graded, options
from grader.cli.deliver import deliver, log_message
from grader.cli.exported import FILLED, WITH_TOTAL, Asked, By, Exported, Gap
from grader.model import UsageError, counted, save_file

if TYPE_CHECKING:
    from grader.classroom.policy.graded_class import GradedClass
    from grader.model import Attempt
    from grader.reports import Document


class Counting(StrEnum):
    """The attempt of several that counts: a copy of gradebook.Keep, whose module loads late."""

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


def export(
    form: Annotated[Exported, typer.Argument(metavar="FORMAT", show_default=False)],
    files: Files,
    out: Out = None,
    gradebook: Gradebook = None,
    total: Total = "",
    by: Named = None,
    keep: Kept = Counting.BEST,
    trust: graded.Trust = None,
    decisions: options.Decided = None,
    manual: graded.ManualFile = None,
    verbose: Verbose = False,
) -> None:
    """Write a class's results for other systems, or pack a course for Gradescope."""
    _require_fitting(form, gradebook, total, by)
    if form is Exported.GRADESCOPE_ZIP:
        _export_zip(files, out)
        return
    asked = Asked(form, out, gradebook, by, total)
    if (folder := _graded_class(files, manual)) is not None:
        made = _of_class(asked, graded.read(folder, manual, trust, decisions))
    else:
        made = _of_attempts(asked, files, keep, trust, decisions)
    # What cannot be used of a graded class was named when it was read.
    problems = () if folder else made.problems
    if gradebook is not None and not verbose:
        _log(_in_short(made.gaps, problems))
    else:
        _log_left_out([*problems, *(line for gap in made.gaps for line in gap.lines)])
    _log(f"note: {note}" for note in made.notes)
    deliver(made.documents)
    raise typer.Exit(int(bool(made.problems)))


@dataclass(frozen=True)
class _Made:
    """The documents, what a gradebook lacks, what cannot be used, and notes."""

    documents: Sequence[Document]
    gaps: Sequence[Gap]
    problems: Sequence[str]
    notes: Sequence[str] = ()


def _of_attempts(
    asked: Asked,
    files: Sequence[Path],
    keep: Counting,
    trust: Sequence[Path] | None,
    decisions: Path | None,
) -> _Made:
    from grader.classroom import context_of
    from grader.classroom import gradebook as grades
    from grader.classroom.board import decisions as decided
    from grader.course import catalog

    context = context_of(catalog.find_root(), trust or (), datetime.now(UTC))
    reasons = decided.reasons(decisions)
    collected = grades.read(files, context)
    attempts = grades.decided(collected.attempts, reasons)
    notes = [*_invalidated(attempts, reasons)]
    notes += decided.unknown(decisions, reasons, {attempt.id for attempt in attempts})
    if asked.form not in _ALL_ATTEMPTS:
        attempts = grades.chosen(attempts, grades.Keep(keep.value), reasons)
    if not attempts:
        _log_left_out(collected.problems)
        raise _nothing_to_export(signed=bool(trust))
    documents, gaps = exported.documents(asked, attempts)
    return _Made(documents, gaps, collected.problems, notes)


def _of_class(asked: Asked, found: GradedClass) -> _Made:
    """Return a class's final grades in gradebooks and tables; else the attempts that count."""
    from grader.reports import Document
    from grader.reports.formats import tables

    if not found.rows:
        raise _nothing_to_export(signed=False)
    if asked.form in WITH_TOTAL:
        return _Made(*exported.for_gradebook(asked, found.rows), found.problems)
    if asked.form is Exported.CSV_WIDE:
        text = tables.final_wide(found.rows)
        return _Made([Document(asked.out, text)], [], found.problems)
    if asked.form is Exported.CSV_LONG:
        text = tables.final_long(found.rows, found.attempts)
        return _Made([Document(asked.out, text)], [], found.problems)
    attempts = found.attempts_in_order()
    if not attempts:
        raise _nothing_to_export(signed=False)
    notes = []
    if any(row.deductions for row in found.rows):
        notes = [f"{asked.form} holds the points of the checks, without deductions and changes"]
    return _Made(*exported.documents(asked, attempts), found.problems, notes)


def _in_short(gaps: Sequence[Gap], problems: Sequence[str]) -> Iterator[str]:
    parts = [f"{counted(len(problems), 'texts')} that cannot be used"] if problems else []
    parts += [f"{gap.words}, such as {gap.example}" for gap in gaps]
    if parts:
        yield f"left out: {'; '.join(parts)}"
        yield "next: --verbose lists all of them; a column is found by the name of its exercise"


def _graded_class(files: Sequence[Path], manual: Path | None) -> Path | None:
    """Return the folder of `grader grade` that is exported; None if the files are others."""
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


def _invalidated(attempts: Sequence[Attempt], reasons: Collection[str]) -> Iterator[str]:
    for attempt in attempts:
        if attempt.id in reasons:
            whose = f"{attempt.student}, {attempt.result.exercise}"
            yield f"{whose}: {attempt.id} counts 0 points. {attempt.result.message}"


def _require_fitting(form: Exported, gradebook: Path | None, total: str, by: By | None) -> None:
    if form in FILLED and gradebook is None:
        system = form.value.capitalize()
        raise UsageError(
            f"The format {form} needs the gradebook that it fills.",
            f"Export the gradebook in {system}, and give --gradebook FILE.",
        )
    for option, given, forms in (
        ("--gradebook", gradebook is not None, FILLED),
        ("--total", bool(total), WITH_TOTAL),
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


def _nothing_to_export(signed: bool) -> UsageError:
    expected = "attempts signed with this key" if signed else "results or attempts"
    more = "" if signed else "; for signed ones give --trust PUBLIC.pem, too"
    return UsageError("There is nothing to export.", f"Name files of {expected}{more}.")


def _export_zip(files: Sequence[Path], out: Path | None) -> None:
    from grader.classroom import autograder_zip

    if len(files) != 1 or out is None:
        raise UsageError(
            "gradescope-zip packs one released course into one file.",
            "Run `grader export gradescope-zip RELEASE --out autograder.zip`.",
        )
    save_file(out, autograder_zip(files[0]))
    log_message(f"{out}: written; upload it to Gradescope as the autograder")
