"""Folders that a kernel file filled: they go whatever it nested, locked away or linked in them."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(folder: Path) -> None:
    """Remove a folder and everything in it. Raises OSError."""
    empty_folder(folder)
    folder.rmdir()


def empty_folder(folder: Path) -> None:
    """Remove everything in a folder, and follow no link. Raises OSError.

    Each folder within is first moved up to `folder`. So neither the length of a path nor the depth
    of nesting can exceed a limit, as in `shutil.rmtree`, and nothing outside is ever opened.
    """
    top = _open(folder)
    try:
        waiting, moved, prefix = _without_files(top), 0, secrets.token_hex(8)
        while waiting:
            name = waiting.pop()
            inner = _open(name, top)
            try:
                for deeper in _without_files(inner):
                    moved += 1
                    waiting.append(f"{prefix}-{moved}")
                    os.close(_open(deeper, inner))  # a folder that moves must be writable
                    os.rename(deeper, waiting[-1], src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


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
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]
