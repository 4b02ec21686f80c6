"""The class that a command reads: a folder of `grader grade`, with grades by the course's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.deliver import log_message
from grader.model import UsageError, texts

if TYPE_CHECKING:
    from grader.classroom.policy.graded_class import GradedClass

Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="The folder that `grader grade` made.")
]
ManualFile = Annotated[
    Path | None,
    typer.Option(
        "--manual",
        metavar="CSV",
        help="Points and comments of yours: login,exercise,points,comment.",
    ),
]
Trust = Annotated[
    list[Path] | None,
    typer.Option(metavar="PUBLIC.pem", help="Take only results signed with this key; repeatable."),
]


def read(
    folder: Path,
    manual: Path | None = None,
    trust: Sequence[Path] | None = None,
    decisions: Path | None = None,
) -> GradedClass:
    """Read a class, and print what an instructor should know of it. Raises UsageError."""
    from grader.classroom import context_of
    from grader.classroom.board import decisions as decided
    from grader.classroom.policy import graded_class
    from grader.course import catalog

    if not graded_class.is_one(folder):
        raise UsageError(
            f"{folder} is no graded class: it holds no {graded_class.FILE}.",
            "Grade the class first: `grader grade SUBMISSIONS --roster roster.csv --out RESULTS`.",
        )
    root = catalog.find_root()
    context = context_of(root, trust or (), datetime.now(UTC))
    reasons = decided.reasons(decisions)
    found = graded_class.read(folder, root, context, manual, reasons)
    log(f"left out: {problem}" for problem in found.problems)
    log(f"note: {note}" for note in found.notes)
    log(f"note: {note}" for note in decided.unknown(decisions, reasons, set(found.attempts)))
    return found


def log(lines: Iterable[str]) -> None:
    """Print lines that may hold names of files and people, which are hostile text."""
    for line in lines:
        log_message(texts.one_line(line, 500))
