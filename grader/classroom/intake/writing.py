"""The folder that a submission is unpacked into: bytes are counted before they are written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from grader.classroom.intake.selection import Refused
from grader.model import CannotGrade

LARGEST_FILE = 8 << 20  # bytes; a kernel has at most an eighth of that
MOST_BYTES = 64 << 20  # of all files that are taken from one submission


class Unpacked:
    """A folder of the batch's, which takes the place of an earlier one with its first file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bytes = 0
        self._is_new = False

    def copy(self, files: Mapping[PurePosixPath, Path]) -> None:
        """Copy plain files. Raises as `write` does, and OSError for one that cannot be read."""
        for path, source in files.items():
            with source.open("rb") as file:
                self.write(path, file)

    def write(self, path: PurePosixPath, file: BinaryIO) -> None:
        """Write one file. Raises Refused beyond the limits, CannotGrade if the disk fails."""
        content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise Refused(f"{path} has more than {LARGEST_FILE:,} bytes")
        self._bytes += len(content)
        if self._bytes > MOST_BYTES:
            raise Refused(f"its files have more than {MOST_BYTES:,} bytes")
        try:
            self._save(self.folder / path, content)
        except OSError as error:
            raise CannotGrade(
                f"The submissions cannot be unpacked into {self.folder.parent}: {error.strerror}.",
                "Free space there, or name a folder on another disk; then run the command again.",
            ) from None

    def _save(self, place: Path, content: bytes) -> None:
        if not self._is_new:
            self.remove()
            self._is_new = True
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def remove(self) -> None:
        if os.path.lexists(self.folder):
            shutil.rmtree(self.folder)
