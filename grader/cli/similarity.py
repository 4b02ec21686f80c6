"""`grader similarity`: alike kernels of a class, as pages for the instructor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import deliver, graded, options
from grader.course import catalog
from grader.model import UsageError, save_file

if TYPE_CHECKING:
    from grader.classroom import Comparison, Intake
    from grader.classroom.similarity.records import Source
    from grader.course import Exercise

Submissions = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS|SUBMISSIONS", help="What `grader grade` made, or what students handed in."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Only these exercises.", show_default=False),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the pages.")]
RosterFile = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="The students; without it, each entry of the folder is one."),
]
Share = Annotated[
    float | None,
    typer.Option(min=0.05, max=1.0, help="Of the shorter file, from which two are a pair."),
]


def similarity(
    submissions: Submissions,
    out: Out,
    names: Names = None,
    roster: RosterFile = None,
    share: Share = None,
) -> None:
    """Find kernels that are alike beyond what all students were given; alike is no proof."""
    from grader.classroom.similarity.compare import SHARE
    from grader.course import settings
    from grader.reports import similarity as pages

    root = catalog.find_root()
    submissions, roster = _originals(submissions, roster, root)
    exercises = options.selected(names, every=not names)
    intake, found = _sources(submissions, roster, exercises)
    least = SHARE if share is None else share
    comparisons = _compared(exercises, found, least)
    if not comparisons:
        raise UsageError(
            f"{submissions} holds no two files of one exercise to compare.",
            "Name the folder of the submissions, or the one that `grader grade` made.",
        )
    logins = {one.student.login: one.student.name for one in intake.handed_in}
    title = settings.read(root).title
    made = pages.pages(pages.Found(title, tuple(comparisons), least, logins))
    deliver.make_folder(out)
    for name, page in made.items():
        save_file(out / name, page)
    pairs = sum(len(one.pairs) for one in comparisons)
    deliver.log_message(f"{out / 'index.html'}: {pairs} pair{'' if pairs == 1 else 's'}")
    deliver.log_message(
        "next: look at the lines side by side before you say a word: alike is no proof"
    )


def _originals(given: Path, roster: Path | None, root: Path) -> tuple[Path, Path | None]:
    """Return the submissions and the roster behind a graded class, or those that are given."""
    from grader.classroom import remembered
    from grader.classroom.policy import graded_class

    if not graded_class.is_one(given):
        return given, roster
    order = remembered(given, root)
    return order.submissions, roster or order.roster


def _sources(
    submissions: Path, roster: Path | None, exercises: Sequence[Exercise]
) -> tuple[Intake, list[Source]]:
    from grader.classroom.similarity.sources import sources, taken_in

    with TemporaryDirectory(prefix="grader-") as work:
        intake = taken_in(submissions, roster, exercises, Path(work))
        found = list(sources(intake, exercises))
    if roster is not None:
        graded.log(f"note: {problem}" for problem in (*intake.problems, *intake.strangers))
    return intake, found


def _compared(
    exercises: Sequence[Exercise], found: Sequence[Source], share: float
) -> list[Comparison]:
    from grader.classroom.similarity import given
    from grader.classroom.similarity.compare import compare

    made = []
    for exercise in exercises:
        own = [one for one in found if one.exercise == exercise.name]
        if len(own) > 1:
            title, code = exercise.any_spec.title, given.texts(exercise)
            made.append(compare(exercise.name, title, own, code, share))
    return made
