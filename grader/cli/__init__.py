"""The command line: argv to one call to an exit code. Only this package prints.

Results go to standard output, and nothing else does; progress, messages and what a kernel printed
go to standard error. `grader --help` and `grader list` must answer at once, so that each command
imports what it needs when it runs.
"""

from __future__ import annotations

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
    keys,
    learn,
    look,
    release,
    say,
    solutions,
)
from grader.model import BrokenExercise, GraderError

BROKEN = BrokenExercise.exit_code

app = typer.Typer(
    name="grader",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# In the order of --help.
app.command()(learn.check)
app.command(name="list")(learn.list_exercises)
app.command()(learn.show)
app.command(name="new")(author.make_new)
app.command(name="stub")(author.write_stubs)
app.command()(author.verify)
app.command()(look.doctor)
app.command()(look.bench)
app.command()(look.lint)
app.command()(release.release)
app.command()(release.update)
app.command()(solutions.solution)
app.add_typer(solutions.app, name="solutions")
app.command()(ci.ci)
app.command()(export.export)
app.add_typer(keys.keys, name="keys")
app.add_typer(board.leaderboard, name="leaderboard")


def _tell_version(asked: bool) -> None:
    if asked:
        say.show_text(f"kernel-grader {__version__}")
        raise typer.Exit


@app.callback()
def grader(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn to write memory-bound GPU kernels, and have them judged."""


def main(argv: Sequence[str] | None = None) -> int:
    """The single exit: run one command line and say how it went (see grader.model.errors)."""
    try:
        typer.main.get_command(app).main(
            args=None if argv is None else list(argv), prog_name="grader"
        )
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else BROKEN
    except KeyboardInterrupt:
        say.tell("interrupted: nothing of this check counts")
        return 130
    except GraderError as error:
        say.tell(f"error: {error.message}")
        if error.next_step:
            say.tell(f"next: {error.next_step}")
        return error.exit_code
    except Exception:
        say.tell(traceback.format_exc().rstrip())
        say.tell("error: This is a fault of the grader, not of your kernel.")
        say.tell("next: Report it with the lines above to whoever runs the course.")
        return BROKEN
    return BROKEN  # typer always exits: whatever ends here is no pass
