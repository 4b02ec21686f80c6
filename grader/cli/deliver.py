"""How reports leave a command: files whole or not at all, then standard output, then nothing.

No folder is made above the one that was named, for then a mistyped path would be one, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.cli import say
from grader.model import UsageError, cannot_write, texts, write_file

if TYPE_CHECKING:
    from grader.reports import Document


def tell(text: str) -> None:
    """Say it such that no line of it is a command to whatever reads the log of a job."""

    say.tell(texts.without_commands(texts.lines(text)))


def deliver(documents: Sequence[Document]) -> None:
    """Write the files, then print what goes to standard output: nothing comes after that.

    Raises UsageError for the first file that cannot be written, once the others are.
    """
    failed: list[UsageError] = []
    for document in documents:
        if document.path is not None:
            try:
                _write(document.path, document)
            except OSError as error:
                failed.append(cannot_write(document.path, error.strerror))
    if failed:
        raise failed[0]
    sys.stderr.flush()
    for document in documents:
        if document.path is None and document.text is not None:
            typer.echo(document.text.encode(), nl=False)


def must_have_place(path: Path) -> None:
    """Raises UsageError where no file of this name can be written, before there is work to lose."""
    # Of os.path, whose answer is no where pathlib's raise PermissionError.
    if os.path.isdir(path):
        raise cannot_write(path, "it is a folder")
    if not os.path.isdir(path.parent):
        raise cannot_write(path, f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise cannot_write(path, f"nothing can be written to {path.parent}")


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there, in one that is. Raises UsageError."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The folder {path} cannot be made: {error.strerror}.",
            "Name one within a folder that is there and yours.",
        ) from None


def _write(path: Path, document: Document) -> None:
    """Whole or not at all, in the place of an earlier one or added to it. Raises OSError."""
    if document.text is None:
        path.unlink(missing_ok=True)
        return
    if document.append:
        text = _after(path) + document.text.encode()
        with path.open("ab") as file:
            file.write(text)
        return
    write_file(path, document.text)


def _after(path: Path) -> bytes:
    """What ends the last line where a run was cut off within it, so that it costs no other."""
    if not path.is_file() or not path.stat().st_size:  # a pipe has no end to look at
        return b""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return b"" if file.read(1) == b"\n" else b"\n"
