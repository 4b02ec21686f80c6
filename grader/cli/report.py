"""`grader report`: a learner's results as pages to look at in a web browser."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import deliver, say
from grader.course import Exercise, Standing, catalog, progress
from grader.model import BrokenExercise, UsageError, cannot_write, save_file

if TYPE_CHECKING:
    from grader.course import History
    from grader.reports import Row

FOLDER = "report"  # in the folder of the learner's state

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="An exercise; without it, the whole course."),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The page to write; without NAME, the folder of all pages."),
]
Results = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="Results from `grader check --json` instead of the kept ones."
    ),
]


def report(name: Name = None, out: Out = None, results: Results = None) -> None:
    """Write a page to look at: the last check, its figures, and the checks before it."""
    root = catalog.find_root()
    if name is None:
        if results:
            raise UsageError(
                "--results belongs to one exercise, and none is named.", "Name that exercise."
            )
        _write_all(root, out or _made(root))
        return
    exercise = catalog.find(root, name)
    path = out or _made(root) / f"{exercise.name}.html"
    deliver.require_writable(path)
    history = _given(exercise, results) if results else _kept(root, exercise)
    from grader.reports import report as pages

    if not history.results:
        raise UsageError(
            f"No result of {exercise.name} is kept.",
            f"Check your kernel first: `grader check {exercise.name}`.",
        )
    page = pages.page(history, None, _following(exercise), partial(_operations, exercise))
    save_file(path, page)
    say.message(f"{path}: written; open it in a web browser")


def _write_all(root: Path, folder: Path) -> None:
    """Write the course's page, and one beside it for each exercise with a result."""
    from grader.course import settings
    from grader.reports import report as pages

    deliver.make_folder(folder)
    standings = progress.read(root)
    if standings.notice:
        say.message(f"note: {standings.notice}")
    title = settings.read(root).title
    rows, exercises = [], catalog.exercises(root)
    for exercise in exercises:
        history = _kept(root, exercise)
        if history.results:
            operations = partial(_operations, exercise)
            page = pages.page(history, title, _following(exercise), operations)
            save_file(folder / f"{exercise.name}.html", page)
        rows.append(_row(exercise, progress.standing_of(standings, exercise.name), history))
    save_file(folder / "index.html", pages.course_page(title, rows))
    say.message(f"{folder / 'index.html'}: written; open it in a web browser")
    for exercise in exercises:
        _ = exercise.any_spec  # a broken spec raises, after the page shows the others


def _row(exercise: Exercise, standing: Standing, history: History) -> Row:
    from grader import backends
    from grader.model import Spec
    from grader.reports import Row

    title, backend = "its spec.py is broken", ""
    with suppress(BrokenExercise):
        spec = exercise.any_spec
        title = spec.title
        backend = backends.title(spec.backend) if isinstance(spec, Spec) else ""
    return Row(
        name=exercise.name,
        title=title,
        shelf=exercise.shelf,
        backend=backend,
        standing=standing,
        link=f"{exercise.name}.html" if history.results else None,
    )


def _following(exercise: Exercise) -> str | None:
    following = progress.following_on(exercise, progress.read(exercise.root))
    return following.name if following else None


def _operations(exercise: Exercise, entry: str, case: str) -> int | None:
    """Return the operations of one call, which the spec counts; None where it does not."""
    from grader.model import Case

    try:
        spec = Exercise(exercise.folder, entry or None).spec
        known = Case.of_headline(case)
    except (UsageError, ValueError, BrokenExercise):  # of another version, or a broken one
        return None
    return spec.flops(known) if spec.flops else None


def _made(root: Path) -> Path:
    """Return the folder for pages within the learner's state, which git ignores."""
    try:
        progress.make_state(root)
    except OSError as error:
        raise cannot_write(root / progress.STATE, error.strerror) from None
    folder = root / progress.STATE / FOLDER
    deliver.make_folder(folder)
    return folder


def _kept(root: Path, exercise: Exercise) -> History:
    from grader.course import history

    return history.read(root / progress.STATE, exercise.name)


def _given(exercise: Exercise, files: Sequence[Path]) -> History:
    """Read the results of an exercise from files, oldest first, and warn of other files."""
    from datetime import UTC, datetime

    from grader.classroom import documents
    from grader.classroom.publish import evidence
    from grader.course import History

    given = evidence.read(files, datetime.now(UTC))
    for problem in documents.problem_lines(given.problems):
        say.message(f"warning: {problem}")
    own = [one for _, one in given.things if one.exercise.partition(":")[0] == exercise.name]
    return History(tuple(sorted(own, key=lambda one: one.started_at)))
