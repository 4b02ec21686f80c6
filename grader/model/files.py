"""Files and folders written whole or not at all: a reader finds the old one or the new one.

New content is written beside its place and moved there at the end. A link at the place of a file is
replaced and never followed: a learner may have laid it there.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from grader.model.errors import UsageError

Name = TypeVar("Name", str, Path)
HALF = ".grader-"  # the names of files that are not whole yet begin so
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of <fcntl.h> and <linux/fs.h>


def write_file(path: Path, content: bytes | str, mode: int | None = None) -> None:
    """Replace a file, or make it. Text is written as UTF-8. Raises OSError.

    Without `mode` an earlier file's permissions stay, and a new one gets the umask's. A device or a
    pipe holds nothing that could be lost, and is written to directly.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file() and not path.is_symlink():
        path.write_bytes(data)
        return
    # A short name of its own: one that is built on the file's may become too long.
    beside = path.with_name(f"{HALF}{secrets.token_hex(8)}")
    try:
        create_file(beside, data, 0o666 if mode is None else mode)
        if mode is None and path.is_file() and not path.is_symlink():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def remove_half_files(folder: Path) -> None:
    """Remove what writers left in a folder that were killed. Nobody may be writing there."""
    for path in folder.glob(f"{HALF}*"):
        with suppress(OSError):
            path.unlink()


def save_file(path: Path, content: bytes | str, mode: int | None = None) -> None:
    """Do as `write_file` for a file that the user named. Raises UsageError."""
    try:
        write_file(path, content, mode)
    except OSError as error:
        raise cannot_write(path, error.strerror) from None


def cannot_write(path: Path, why: str | None) -> UsageError:
    return UsageError(
        f"{path} cannot be written: {why}.", "Name a file in a folder that is there and yours."
    )


def create_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Make a file that was not there, on the disk when this returns. Raises OSError."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(opened, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(opened)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces `folder` at the end. Raises OSError.

    An exception in the block leaves everything as it was. Where `folder` is a link, its target is
    replaced. The old content is deleted.
    """
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(
        prefix=HALF, dir=folder.parent, ignore_cleanup_errors=True
    ) as beside:
        new = Path(beside, "new")
        new.mkdir()
        yield new
        if folder.is_dir():
            shutil.copymode(folder, new)
            _exchange(new, folder, Path(beside, "old"))
        else:
            new.rename(folder)


@contextmanager
def staged_files(folder: Path, files: Mapping[str, bytes]) -> Iterator[None]:
    """Lay files ready within `folder`, and move each to its path there at the end. Raises OSError.

    A full disk and a place without permission show before the block begins. Each file is replaced
    whole; all of them together are not.
    """
    # Releases ignore this name in git, should a run be killed.
    with tempfile.TemporaryDirectory(prefix=".grader-update-", dir=folder) as beside:
        ready = {path: Path(beside, str(number)) for number, path in enumerate(files)}
        for path, content in files.items():
            ready[path].write_bytes(content)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        yield
        for path in files:
            ready[path].replace(folder / path)


def fill_folder(folder: Path, files: Mapping[Name, bytes | str]) -> None:
    """Write files by their paths in a folder, text as UTF-8 with its line ends. Raises OSError."""
    for name, content in files.items():
        path = folder / name
        if ".." in path.parts or not path.is_relative_to(folder):
            raise ValueError(f"{str(name)!r} leads out of the folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _exchange(new: Path, there: Path, old: Path) -> None:
    if _exchanged(new, there):
        return
    # Not every file system can exchange: for a moment nothing is there.
    there.rename(old)
    try:
        new.rename(there)
    except BaseException:
        old.rename(there)
        raise


def _exchanged(new: Path, there: Path) -> bool:
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:  # a C library older than glibc 2.28
        return False
    first, second = os.fsencode(new), os.fsencode(there)
    done: int = renameat2(_AT_FDCWD, first, _AT_FDCWD, second, ctypes.c_uint(_RENAME_EXCHANGE))
    return done == 0
