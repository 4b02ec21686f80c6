"""The commands that hand a course out, and bring to a newer version what was handed out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.course import catalog
from grader.model import counted

if TYPE_CHECKING:
    from grader.classroom import Order, Plan, Release


class CI(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    CLASSROOM50 = "classroom50"
    NONE = "none"


def release(
    out: Annotated[Path, typer.Option(metavar="DIR", help="A folder that is not there yet.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this exercise, and others named.")
    ] = None,
    ci: Annotated[CI, typer.Option(help="The CI file that students get.")] = CI.NONE,
    grader: Annotated[
        str | None,
        typer.Option(metavar="REQUIREMENT", help="What pip installs; else this grader is packed."),
    ] = None,
    extra: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="Also this file of the course."),
    ] = None,
    no_git: Annotated[
        bool, typer.Option("--no-git", help="A folder alone, without a repository.")
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
    _tell_release(made, order, out)


def _tell_release(made: Release, order: Order, out: Path) -> None:
    for line in made.notes:
        say.tell(f"note: {line}")
    about = made.manifest
    say.show_text(f"{out}: {about.course}, version {about.version}")
    exercises = counted(len(order.exercises), "exercises")
    say.show_text(f"{exercises}, {counted(len(about.files), 'files')}")
    searched = "file or git object" if order.git else "file"
    solutions = counted(made.solutions, "solutions")
    say.show_text(
        f"no telling line of {solutions} stands in any {searched}, "
        "but those that stubs show, or lessons and hints quote"
    )


def update(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The folder or git repository of a release.")
    ],
) -> None:
    """Bring a student's repository to a newer release; kernels that were worked on stay."""
    folder = catalog.find_root()
    from grader.classroom.release import update

    planned = update.run(folder, source)
    _tell_update(planned)


def _tell_update(planned: Plan) -> None:
    from grader.classroom import Action

    why = {
        Action.ADD: "new",
        Action.REPLACE: "brought up to date",
        Action.KEEP: "kept: you have worked on it; the course has a new stub",
        Action.REMOVE: "removed: the course has it no more",
        Action.LEAVE: "left where it is, though the course has it no more",
    }
    for step in planned.steps:
        said = why.get(step.action) or f"brought up to date; what you had is in {step.aside}"
        say.show_text(f"{step.path}: {said}")
    new = planned.new
    if not planned.steps and planned.old == new:
        say.show_text(f"This is {new.course}, version {new.version}, already.")
        return
    say.show_text(f"This is {new.course}, version {new.version}, now.")
    grader = ("wheels/", "requirements", "constraints")
    if any(step.path.startswith(grader) for step in planned.steps):
        say.tell("next: what is installed has changed: install as README.md says")
