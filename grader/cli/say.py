"""Output of commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import typer

from grader.cli.progress import InLines, OnTerminal, Progress

if TYPE_CHECKING:
    from rich.text import Text


@contextmanager
def progress() -> Iterator[Progress]:
    """Yield what shows progress: one changing line on a terminal, else lines."""
    shown: Progress = OnTerminal() if sys.stderr.isatty() else InLines(message)
    try:
        yield shown
    finally:
        shown.close()


def width() -> int:
    from rich.console import Console

    return Console().width


def show(text: Text) -> None:
    from rich.console import Console

    console = Console()
    with console.capture() as captured:
        console.print(text, soft_wrap=True, end="")
    show_text(captured.get(), end="")


def show_text(text: str, end: str = "\n") -> None:
    print(_encodable(text, sys.stdout.encoding), end=end, flush=True)


def message(text: str) -> None:
    try:
        print(_encodable(text, sys.stderr.encoding), file=sys.stderr, flush=True)
    except OSError:  # the verdict and the exit code do not depend on it
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Discard what cannot be written, or Python would try once more at its end and fail."""
    with suppress(OSError, ValueError):  # no descriptor under a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _encodable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from grader.reports import PLAIN

        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def write_json(line: bytes) -> None:
    typer.echo(line)  # bytes: JSON is UTF-8, whatever the terminal's encoding is
