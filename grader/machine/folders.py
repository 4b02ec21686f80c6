"""Folders that a kernel file filled: they go whatever it nested, locked away or linked in them."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(folder: Path) -> None:
    """Remove a folder and everything in it. Raises OSError."""
    empty_folder(folder)
    folder.rmdir()


def empty_folder(folder: Path) -> None:
    """Remove everything in a folder, and follow no link. Raises OSError.

    What vanishes by itself meanwhile is gone as well: a process that ends takes its files along.
    Each folder within is first moved up to `folder`. So neither the length of a path nor the depth
    of nesting can exceed a limit, as in `shutil.rmtree`, and nothing outside is ever opened.
    """
    top = _open(folder)
    try:
        waiting = _without_files(top)
        while waiting:
            with suppress(FileNotFoundError):
                _take_apart(waiting.pop(), top, waiting)
    finally:
        os.close(top)


def _take_apart(name: str, top: int, waiting: list[str]) -> None:
    """Remove a folder in `top`, after moving its own folders to `top` and adding them to a list."""
    inner = _open(name, top)
    try:
        for deeper in _without_files(inner):
            with suppress(FileNotFoundError):
                os.close(_open(deeper, inner))  # a folder that moves must be writable
                free = secrets.token_hex(16)
                os.rename(deeper, free, src_dir_fd=inner, dst_dir_fd=top)
                waiting.append(free)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _open(folder: Path | str, within: int | None = None) -> int:
    """Open a folder after making it readable and writable for its owner."""
    found = os.open(folder, _FOLDER | os.O_PATH, dir_fd=within)
    try:
        os.chmod(f"/proc/self/fd/{found}", stat.S_IRWXU)
        return os.open(".", _FOLDER, dir_fd=found)
    finally:
        os.close(found)


def _without_files(folder: int) -> list[str]:
    """Remove all of a folder but its own folders, and return the names of these."""
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not is_folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]
