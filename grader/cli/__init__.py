"""The command line: argv to one call to an exit code. Only this package prints.

Results go to standard output, and nothing else does; progress, messages and what a kernel printed
go to standard error. `grader --help` and `grader list` must answer at once, so that each command
imports what it needs only when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, and return its exit code (see grader.model.errors). The only exit."""
    _open_missing_streams()
    try:
        # Imported here, so that a Ctrl-C meanwhile ends as one later does.
        from grader.cli import commands
        from grader.cli.stopwatch import STOPWATCH

        STOPWATCH.restart(with_process=argv is None)
        return commands.run(argv)
    except KeyboardInterrupt:
        print("interrupted: this check does not count", file=sys.stderr)
        return INTERRUPTED


def _open_missing_streams() -> None:
    """Connect closed standard streams to nothing, or the next file opened would get their number.

    `sys.stdout` stays None, for a report that nobody gets must not count.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free: this one
            os.set_inheritable(number, True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  until the end
