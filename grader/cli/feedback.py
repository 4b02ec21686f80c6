"""`grader feedback`: a file for each student of a graded class, with what that student may see."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli import deliver, graded, options
from grader.model import save_file

Out = Annotated[
    Path, typer.Option(metavar="DIR", help="The folder of the files, LOGIN.html and LOGIN.md.")
]


def feedback(
    results: graded.Results,
    out: Out,
    manual: graded.ManualFile = None,
    trust: graded.Trust = None,
    decisions: options.Decided = None,
) -> None:
    """Write a page for each student: grades, messages, deductions and your comments."""
    from grader.classroom.policy.students_view import views
    from grader.course import catalog, settings
    from grader.reports import feedback as pages

    found = graded.read(results, manual, trust, decisions)
    own = settings.read(catalog.find_root())
    course = pages.Course(own.title, own.version, found.run.made_at)
    deliver.make_folder(out)
    for view in views(found.rows, found.attempts):
        name = deliver.file_name(view.row.student)
        save_file(out / f"{name}.html", pages.page(view, course))
        save_file(out / f"{name}.md", pages.markdown(view, course))
    students = f"{len(found.rows):,} student{'' if len(found.rows) == 1 else 's'}"
    deliver.log_message(f"{out}: two files for each of {students}: LOGIN.html and LOGIN.md")
    deliver.log_message("next: give each student only their own file; docs/grading.md says how")
    raise typer.Exit(int(bool(found.problems)))
