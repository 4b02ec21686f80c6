"""Delivery of reports: files whole or not at all, then standard output, then nothing.

Only the named folder is made, none above it: a mistyped path must not create folders.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.cli import say
from grader.model import UsageError, cannot_write, texts, write_file

if TYPE_CHECKING:
    from grader.reports import Document


def log_message(text: str) -> None:
    """Print text so that none of its lines is a command to the system that reads a job's log."""
    say.message(texts.without_commands(texts.lines(text)))


def deliver(documents: Sequence[Document]) -> None:
    """Write the files, then print the rest to standard output, as the last thing there.

    Raises UsageError for the first file that cannot be written, after writing the others.
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


def require_writable(path: Path) -> None:
    """Raise UsageError if this file cannot be written, before there is work to lose."""
    # os.path returns False where pathlib raises PermissionError.
    if os.path.isdir(path):
        raise cannot_write(path, "it is a folder")
    if not os.path.isdir(path.parent):
        raise cannot_write(path, f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise cannot_write(path, f"nothing can be written to {path.parent}")


def make_folder(path: Path) -> None:
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The folder {path} cannot be made: {error.strerror}.",
            "Name one within a folder that exists and that you may write to.",
        ) from None


def file_name(student: str) -> str:
    """Return the student's login if it is safe as a file's name, else a safe and unique one."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,80}", student):
        return student
    digest = hashlib.sha256(student.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', student)[:40]}-{digest}"


def _write(path: Path, document: Document) -> None:
    if document.text is None:
        path.unlink(missing_ok=True)
        return
    if document.append:
        text = _missing_newline(path) + document.text.encode()
        with path.open("ab") as file:
            file.write(text)
        return
    write_file(path, document.text)


def _missing_newline(path: Path) -> bytes:
    if not path.is_file() or not path.stat().st_size:  # a pipe has no end to look at
        return b""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return b"" if file.read(1) == b"\n" else b"\n"
