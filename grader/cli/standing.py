"""The commands that show where a learner stands: next, status, hint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli import options, say
from grader.course import Exercise, Progress, catalog
from grader.course import progress as standings
from grader.model import UsageError


def next_exercise() -> None:
    """Show the exercise to go on with: what it teaches, the file to edit and what to type."""
    exercises, progress = _read()
    following = standings.following(exercises, progress)
    from grader.reports import standing

    if following is None:
        say.show(standing.all_done(exercises, progress))
        return
    say.show(standing.task(following, progress, say.width()))


def status() -> None:
    """Show what is done: points, the best share and the time of the last pass."""
    exercises, progress = _read()
    from grader.reports import standing

    say.show(standing.status(exercises, progress, say.width()))


def hint(
    name: options.OneName,
    every: Annotated[bool, typer.Option("--all", help="Show all hints at once.")] = False,
) -> None:
    """Show the next hint of an exercise, or all again once each was shown."""
    exercise = options.folder_of(name)
    hints, root = exercise.any_spec.hints, exercise.root
    if not hints:
        raise UsageError(
            f"{exercise.name} has no hints.", "Its README.md explains what there is to know."
        )
    shown = standings.standing_of(remembered(root), exercise.name).hints
    first = 0 if every or shown >= len(hints) else shown
    last = len(hints) if every or shown >= len(hints) else shown + 1
    from grader.reports import standing

    say.show(standing.hints(exercise, first, last, say.width()))
    for _ in range(shown, last):
        note(standings.hint_shown(root, exercise.name))


def remembered(root: Path) -> Progress:
    """Read the learner's progress, and say so if something is wrong with its file."""
    return note(standings.read(root))


def note(progress: Progress) -> Progress:
    if progress.notice:
        say.message(f"note: {progress.notice}")
    return progress


def _read() -> tuple[list[Exercise], Progress]:
    root = catalog.find_root()
    exercises = catalog.exercises(root)
    if not exercises:
        raise UsageError("This course has no exercises yet.", "Add a folder with a spec.py.")
    return exercises, remembered(root)
