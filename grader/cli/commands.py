"""The commands of `grader`, and the errors that end them."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from grader import __version__
from grader.cli import (
    author,
    board,
    ci,
    export,
    feedback,
    grade,
    kernel_file,
    keys,
    learn,
    look,
    loop,
    menu,
    overview,
    release,
    report,
    say,
    similarity,
    solutions,
    standing,
)
from grader.cli.menu import Menu
from grader.model import BrokenExercise, CannotGrade, GraderError, UsageError

BROKEN = BrokenExercise.exit_code

app = typer.Typer(
    name="grader",
    cls=Menu,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# In the order of --help.
app.command(rich_help_panel=menu.LEARNERS)(release.init)
app.command(name="next", rich_help_panel=menu.LEARNERS)(standing.next_exercise)
app.command(cls=learn.CheckCommand, rich_help_panel=menu.LEARNERS)(learn.check)
app.command(rich_help_panel=menu.LEARNERS)(loop.watch)
app.command(rich_help_panel=menu.LEARNERS)(standing.hint)
app.command(rich_help_panel=menu.LEARNERS)(learn.show)
app.command(rich_help_panel=menu.LEARNERS)(standing.status)
app.command(name="list", rich_help_panel=menu.LEARNERS)(learn.list_exercises)
app.command(rich_help_panel=menu.LEARNERS)(kernel_file.diff)
app.command(rich_help_panel=menu.LEARNERS)(kernel_file.reset)
app.command(rich_help_panel=menu.LEARNERS)(solutions.solution)
app.command(rich_help_panel=menu.LEARNERS)(report.report)
app.command(rich_help_panel=menu.LEARNERS)(look.bench)
app.command(rich_help_panel=menu.LEARNERS)(look.doctor)
app.command(rich_help_panel=menu.LEARNERS)(release.update)
app.command(name="new", rich_help_panel=menu.AUTHORS)(author.make_new)
app.command(name="stub", rich_help_panel=menu.AUTHORS)(author.write_stubs)
app.command(rich_help_panel=menu.AUTHORS)(author.verify)
app.command(rich_help_panel=menu.AUTHORS)(look.lint)
app.command(rich_help_panel=menu.INSTRUCTORS)(release.release)
app.add_typer(solutions.app, name="solutions", rich_help_panel=menu.INSTRUCTORS)
app.command(rich_help_panel=menu.INSTRUCTORS)(ci.ci)
app.command(rich_help_panel=menu.INSTRUCTORS)(grade.grade)
app.command(rich_help_panel=menu.INSTRUCTORS)(grade.regrade)
app.command(rich_help_panel=menu.INSTRUCTORS)(export.export)
app.command(rich_help_panel=menu.INSTRUCTORS)(feedback.feedback)
app.command(rich_help_panel=menu.INSTRUCTORS)(overview.overview)
app.command(rich_help_panel=menu.INSTRUCTORS)(similarity.similarity)
app.add_typer(keys.keys, name="keys", rich_help_panel=menu.INSTRUCTORS)
app.add_typer(board.leaderboard, name="leaderboard", rich_help_panel=menu.INSTRUCTORS)


def _show_version(requested: bool) -> None:
    if requested:
        _require_output()
        say.show_text(f"kernel-grader {__version__}")
        raise typer.Exit


def _require_output() -> None:
    if sys.stdout is None:
        raise UsageError(
            "Standard output is closed: nobody would get the report.",
            "Let it lead somewhere: `grader … > /dev/null` for the exit code alone.",
        )


@app.callback()
def grader(
    context: typer.Context,
    plain: loop.Plain = False,
    poll: loop.Poll = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn to write memory-bound GPU kernels, and have them judged."""
    _require_output()
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UsageError(
            "The folder that this shell is in has been deleted.",
            "Change to the folder of the course, and run the command there.",
        ) from None
    loop.without_command(context.invoked_subcommand, plain, poll)


def run(argv: Sequence[str] | None) -> int:
    try:
        typer.main.get_command(app).main(
            args=None if argv is None else list(argv), prog_name="grader"
        )
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else BROKEN
    except GraderError as error:
        return _end(error)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            say.give_up(sys.stdout)
            return _end(_disk_is_full())
        say.message(traceback.format_exc().rstrip())
        say.message("error: This is a fault of the grader, not of your kernel.")
        say.message("next: Report it with the lines above to whoever runs the course.")
        return BROKEN
    return BROKEN  # typer always exits: a command that ends here did not pass


def _disk_is_full() -> CannotGrade:
    return CannotGrade(
        "Nothing more can be written: the disk is full.",
        "Free some space on it, or write to another.",
    )


def _end(error: GraderError) -> int:
    say.message(f"error: {error.message}")
    if error.next_step:
        say.message(f"next: {error.next_step}")
    return error.exit_code
