"""The loop that answers each save of a kernel file: full-screen, or line by line.

Decide first, draw last: `transitions` decides what a key, a save or an answer of the judge means,
`session` does it, `drawing` says it, and `screen` and `plain` are the two front ends.
"""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli import options
from grader.model import UsageError

Plain = Annotated[
    bool, typer.Option("--plain", help="Without a command: the loop in lines, without a screen.")
]
Poll = Annotated[
    bool, typer.Option("--poll", help="Without a command: find saves by looking at the file.")
]


def without_command(command: str | None, plain: bool, poll: bool) -> None:
    """Start the loop where the command line names no command."""
    if command is None:
        _start(None, plain, poll)
    elif plain or poll:
        raise UsageError(
            f"{'--plain' if plain else '--poll'} belongs to the loop, not to `grader {command}`.",
            "Type `grader --plain` or `grader --poll` without a command.",
        )


def watch(
    name: options.OneName,
    plain: Plain = False,
    poll: Poll = False,
) -> None:
    """Start the loop, as `grader` alone does, at this exercise."""
    _start(name, plain, poll)


def _start(name: str | None, plain: bool, poll: bool) -> None:
    from grader.cli.loop.start import start  # textual takes a while

    start(name, plain, poll)
