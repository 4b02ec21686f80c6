"""`grader overview`: a graded class at a glance, as pages for the instructor."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import deliver, graded, options
from grader.course import catalog, settings
from grader.model import UsageError, save_file, texts

if TYPE_CHECKING:
    from grader.model import Attempt

Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the pages.")]
Section = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only the students of this section.")
]
Earlier = Annotated[
    list[Path] | None,
    typer.Option(metavar="PATH", help="Results before these, for each student's history."),
]


def overview(
    results: graded.Results,
    out: Out,
    section: Section = None,
    earlier: Earlier = None,
    manual: graded.ManualFile = None,
    trust: graded.Trust = None,
    decisions: options.Decided = None,
) -> None:
    """Write pages that show where a class is stuck, its failures, and each student's history."""
    from grader.classroom.policy.overview import overview as overview_of
    from grader.reports import overview as pages

    found = graded.read(results, manual, trust, decisions)
    rows = [row for row in found.rows if section is None or row.section == section]
    if not rows:
        sections = sorted({row.section for row in found.rows} - {""})
        raise UsageError(
            f"The class has no student of the section {texts.quoted(section or '')}.",
            f"Its sections are {', '.join(map(texts.quoted, sections))}."
            if sections
            else "Its roster names no section: leave out --section.",
        )
    whole = overview_of(rows, found.attempts, _earlier(earlier or (), trust or ()))
    title = settings.read(catalog.find_root()).title
    course = pages.Course(title, found.run.made_at, section or "")
    links = {row.student: f"students/{deliver.file_name(row.student)}.html" for row in rows}
    for folder in (out, out / "students"):
        deliver.make_folder(folder)
    for row in rows:
        save_file(out / links[row.student], pages.student(whole, row, course))
    notes = (*found.run.problems, *found.run.strangers)
    save_file(out / "index.html", pages.index(whole, course, links, notes))
    deliver.log_message(f"{out / 'index.html'}: written; it names students, and is yours alone")
    raise typer.Exit(int(bool(found.problems)))


def _earlier(paths: Sequence[Path], trust: Sequence[Path]) -> list[Attempt]:
    """Read the attempts of earlier results: files, folders of them, or graded classes."""
    from grader.classroom import context_of, gradebook
    from grader.classroom.policy import graded_class

    if not paths:
        return []
    places = [path / "attempts" if graded_class.is_one(path) else path for path in paths]
    context = context_of(catalog.find_root(), trust, datetime.now(UTC))
    read = gradebook.read(places, context)
    graded.log(f"left out: {problem}" for problem in read.problems)
    return list(read.attempts)
