"""How reports leave a command: files whole or not at all, then standard output, then nothing."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from grader.cli import say
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.render.reports.registry import Document


def tell(text: str) -> None:
    """Say it such that no line of it is a command to whatever reads the log of a job."""
    from grader.render.reports import texts

    say.tell(texts.harmless(texts.lines(text)))


def deliver(documents: Sequence[Document]) -> None:
    """Write the files, then print what goes to standard output: nothing comes after that.

    Raises GraderError for the first file that cannot be written, once the others are.
    """
    failed: list[GraderError] = []
    for document in documents:
        if document.path is not None:
            try:
                _write(document.path, document)
            except OSError as error:
                failed.append(_unwritten(document.path, error))
    if failed:
        raise failed[0]
    sys.stderr.flush()
    for document in documents:
        if document.path is None and document.text is not None:
            typer.echo(document.text.encode(), nl=False)


def _unwritten(path: Path, error: OSError) -> GraderError:
    return GraderError(
        f"The report {path} cannot be written: {error.strerror}.",
        "Name a file in a folder that can be written to.",
    )


def _write(path: Path, document: Document) -> None:
    """Whole or not at all, in the place of an earlier one or added to it. Raises OSError."""
    if document.text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if document.append:
        with path.open("a+b") as file:
            file.write(_after(file) + document.text.encode())
        return
    _replace(path, document.text.encode())


def _after(file: BinaryIO) -> bytes:
    """What ends the last line where a run was cut off within it, so that it costs no other."""
    if not file.seek(0, os.SEEK_END):
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


def write(path: Path, content: bytes) -> None:
    """Whole or not at all. Raises GraderError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise _unwritten(path, error) from None


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)  # mkstemp lets only the owner read
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
