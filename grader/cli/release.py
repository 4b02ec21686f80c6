"""The commands that make and update folders to learn in: init, update, release."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.course import SHELVES, STUBS, catalog
from grader.model import counted

if TYPE_CHECKING:
    from grader.classroom import Order, Plan, Release


class CI(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    CLASSROOM50 = "classroom50"
    NONE = "none"


def release(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to make; it must not exist.")
    ],
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this exercise; repeatable.")
    ] = None,
    ci: Annotated[CI, typer.Option(help="The CI file that students get.")] = CI.NONE,
    grader: Annotated[
        str | None,
        typer.Option(
            metavar="REQUIREMENT",
            help="The grader for pip to install, instead of a copy of this one.",
        ),
    ] = None,
    extra: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="Also this file of the course; repeatable."),
    ] = None,
    no_git: Annotated[
        bool, typer.Option("--no-git", help="Make a folder without a git repository.")
    ] = False,
) -> None:
    """Make the students' repository, and prove that no solution is in it."""
    root = catalog.find_root()
    chosen = options.selected(only, every=not only)
    from grader.classroom.release import build

    order = build.Order(
        root=root,
        exercises=tuple(one for one in catalog.exercises(root) if one in chosen),
        ci=None if ci is CI.NONE else ci.value,
        grader=grader,
        extra=tuple(extra or ()),
        git=not no_git,
    )
    with say.progress() as progress:
        progress("making the release, and looking for solutions in it …")
        made = build.build(order, out)
    _show_release(made, order, out)


def _show_release(made: Release, order: Order, out: Path) -> None:
    for line in made.notes:
        say.message(f"note: {line}")
    about = made.manifest
    say.show_text(f"{out}: {about.course}, version {about.version}")
    exercises = counted(len(order.exercises), "exercises")
    say.show_text(f"{exercises}, {counted(len(about.files), 'files')}")
    searched = "file or git object" if order.git else "file"
    solutions = counted(made.solutions, "solutions")
    say.show_text(
        f"no {searched} holds a distinctive line of {solutions}, "
        "except lines that stubs show, or lessons and hints quote"
    )


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="The folder to make; else one named as the course."),
    ] = None,
) -> None:
    """Make a folder to learn in, with the puzzles and exercises of the course."""
    from grader.course import require_installed_course, settings

    root = require_installed_course()
    about = settings.read(root)
    out = folder or Path(about.name)
    from grader.classroom.release import learners_folder

    made = learners_folder.make(root, out)
    puzzles = sum(one.shelf == SHELVES[1] for one in made.exercises)
    say.show_text(
        f"{out}: {about.title}, version {about.version}: "
        f"{counted(puzzles, 'puzzles')}, {counted(len(made.exercises) - puzzles, 'exercises')}"
    )
    if not made.in_git:
        say.message("note: there is no git here, so nothing keeps the history of your kernels")
    there = "" if out.resolve() == Path.cwd() else f"`cd {shlex.quote(str(out))}`, then "
    say.show_text(f"next: {there}`grader`, which checks each save")


def update(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FROM]",
            help="The folder or git repository of a class's release; else this installation.",
        ),
    ] = None,
) -> None:
    """Bring your folder to a newer version of the course. Kernels that were worked on stay."""
    folder = catalog.find_root()
    from grader.classroom.release import learners_folder, update

    if source is None:
        from grader.course import require_installed_course

        planned = learners_folder.bring_forward(folder, require_installed_course())
    else:
        planned = update.run(folder, source)
    _show_update(planned)


def _show_update(planned: Plan) -> None:
    from grader.classroom import Action

    outcomes = {
        Action.ADD: "new",
        Action.REPLACE: "brought up to date",
        Action.KEEP: "kept, because you have worked on it; the course has a new stub",
        Action.REMOVE: "removed, because the course no longer has it",
        Action.LEAVE: "left in place, though the course no longer has it",
    }
    for step in planned.steps:
        if step.path.startswith(f"{STUBS}/"):
            continue  # what `grader reset` writes: nobody looks there
        saved = f"brought up to date; your version is in {step.aside}"
        say.show_text(f"{step.path}: {outcomes.get(step.action, saved)}")
    new = planned.new
    if not planned.steps and planned.old == new:
        say.show_text(f"This is {new.course}, version {new.version}, already.")
        return
    say.show_text(f"This is {new.course}, version {new.version}, now.")
    grader = ("wheels/", "requirements", "constraints")
    if any(step.path.startswith(grader) for step in planned.steps):
        say.message(
            "next: the required packages have changed; install them again, as README.md says"
        )
