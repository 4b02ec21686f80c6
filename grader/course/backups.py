"""`grader reset`: an exercise begins again, and the learner's file is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course import progress, stubs
from grader.course.exercise import Exercise
from grader.model import UsageError, create_file, write_file

FOLDER = "backups"  # below progress.STATE, one folder for each exercise


@dataclass(frozen=True)
class Reset:
    """The result of a reset: whether the stub was written, and where the learner's file is now."""

    written: bool
    backup: Path | None = None


def reset(exercise: Exercise, make: stubs.StubMaker = stubs.make_stub) -> Reset:
    """Write the stub into the learner's file, whose content is copied before that.

    Raises BrokenExercise and UsageError as `stubs.stub_of` does, and UsageError if the path is
    not a file or cannot be written.
    """
    stub = stubs.stub_of(exercise, make).encode()
    kernel = exercise.kernel
    if os.path.lexists(kernel) and not kernel.is_file():
        raise UsageError(f"{kernel} is not a file.", stubs.recovery(exercise, kernel))
    try:
        own = kernel.read_bytes() if kernel.is_file() else None
        if own == stub:
            return Reset(written=False)
        backup = None if own is None else _kept(exercise, own)
        write_file(kernel, stub)
    except OSError as error:
        raise UsageError(
            f"{exercise.name} was not reset: {error.filename}: {error.strerror}.",
            "Your file is as it was. Check the permissions, and reset it again.",
        ) from None
    return Reset(True, backup)


def _kept(exercise: Exercise, content: bytes) -> Path:
    progress.make_state(exercise.root)
    folder = exercise.root / progress.STATE / FOLDER / exercise.folder.name
    folder.mkdir(parents=True, exist_ok=True)
    stem, suffix = os.path.splitext(exercise.file)
    day = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 1
    while True:
        again = "" if number == 1 else f"-{number}"
        path = folder / f"{stem}-{day}{again}{suffix}"
        try:
            create_file(path, content)
        except FileExistsError:
            number += 1
        else:
            return path
