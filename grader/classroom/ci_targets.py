"""The kernel files that `grader ci` grades: the course's own, or those of a student's repository.

A student's repository is graded with the course's own specs and tests; of the student's only the
kernel files are taken.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.ci_systems import System
from grader.classroom.lone_kernel import Lone, entries_of, lone_kernel
from grader.course import SHELVES, Exercise, ReleasedFile, catalog, manifest
from grader.grading import LARGEST_FILE
from grader.model import BrokenExercise, Status, UsageError

_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # of a path that leads to no file


@dataclass(frozen=True)
class Target:
    """One kernel to grade; `refused` is the reason not to grade it."""

    exercise: Exercise
    kernel: Path
    shown: str  # the kernel's path, for readers
    notes: tuple[str, ...] = ()
    refused: tuple[Status, str] | None = None


def plan(
    exercises: Sequence[Exercise], submission: Path | None, system: System = System.SHELL
) -> tuple[Target, ...]:
    """List the kernel files to grade: the course's, or those of a student's repository.

    A lone kernel file is graded where one exercise is meant. Raises UsageError for a submission
    that is not a folder. Raises it also for one without any exercise of the course, because another
    folder was meant and 0 points would be wrong. A submission that the student sent is graded even
    so.
    """
    if submission is None:
        return tuple(_own(exercise) for exercise in exercises)
    if not submission.is_dir():
        raise UsageError(
            f"The submission {submission} is not a folder.", "Name a student's repository."
        )
    folder = _repository(submission)
    places = [one.folder.relative_to(one.root) for one in catalog.exercises(exercises[0].root)]
    if any(os.path.lexists(folder / one) for one in places):
        released = _released(folder)
        return tuple(_handed_in(exercise, folder, released) for exercise in exercises)
    lone = lone_kernel(exercises, folder)
    if lone.exercise is None and not system.takes_submissions:
        none = f"The submission {submission} holds none of the course's exercises."
        raise UsageError(
            f"{none} {lone.said}".strip(),
            f"Name the student's repository, the folder that holds {places[0].parent}/. A student "
            "who has handed in nothing is not graded.",
        )
    return tuple(_with_lone(exercise, folder, lone) for exercise in exercises)


def _with_lone(exercise: Exercise, folder: Path, lone: Lone) -> Target:
    if lone.path is not None and exercise == lone.exercise:
        return Target(exercise, lone.path, lone.path.name, (lone.said,))
    target = _handed_in(exercise, folder, {})
    status, missing = target.refused or _missing(f"{target.shown} in what was handed in")
    if lone.exercise is not None:
        return replace(target, refused=(status, missing))
    entry = next(iter(entries_of(exercise)), "")
    function = f" with its function {entry}" if entry else ""
    say = f"{missing} {lone.said}".strip()
    what = f"Upload the folder {exercise.shelf}/ in a zip file, or one kernel file{function}."
    return replace(target, refused=(status, f"{say} {what}"))


def _own(exercise: Exercise) -> Target:
    kernel = exercise.folder / _file(exercise)
    shown = kernel.relative_to(exercise.root).as_posix()
    missing = None if os.path.lexists(kernel) else _missing(shown)
    return Target(exercise, kernel, shown, refused=missing)


def _file(exercise: Exercise) -> str:
    try:
        return exercise.kernel.name
    except BrokenExercise:  # grading that exercise reports it
        return "kernel.py"


def _missing(shown: str) -> tuple[Status, str]:
    return Status.NOT_STARTED, f"There is no {shown}."


def _repository(submission: Path) -> Path:
    """Return the folder with the exercises: the one given, or the only one in it, as of a zip."""
    if any((submission / shelf).is_dir() for shelf in SHELVES):
        return submission
    inner = [f for f in submission.iterdir() if f.is_dir() and not f.is_symlink()]
    holding = [f for f in inner if any((f / shelf).is_dir() for shelf in SHELVES)]
    return holding[0] if len(holding) == 1 else submission


def _released(folder: Path) -> dict[str, ReleasedFile]:
    # The repository's own manifest lists them: a student may have forged it.
    path = folder / manifest.FILE
    if not path.is_file() or not _stays_inside(path, folder):
        return {}
    try:
        return {file.path: file for file in manifest.read(folder).files}
    except UsageError:
        return {}


def _handed_in(exercise: Exercise, folder: Path, released: Mapping[str, ReleasedFile]) -> Target:
    place = exercise.folder.relative_to(exercise.root)
    shown = (place / _file(exercise)).as_posix()
    kernel = folder / shown
    refused = _refusal(kernel, shown, folder)
    if refused is not None and refused[0] is Status.CANNOT_GRADE:
        return Target(exercise, kernel, shown, refused=refused)  # what else is there is unknown
    return Target(exercise, kernel, shown, tuple(_changes(exercise, folder, released)), refused)


def _refusal(kernel: Path, shown: str, folder: Path) -> tuple[Status, str] | None:
    try:
        os.lstat(kernel)  # os.path.lexists finds nothing where it may not look
    except OSError as error:
        if error.errno in _NOWHERE:
            return _missing(f"{shown} in what was handed in")
        return no_access(shown, error)
    if not _stays_inside(kernel, folder):
        why = f"{shown} is a link that leads out of what was handed in, and was not read."
        return Status.FAIL, why
    try:
        if stat.S_ISREG(os.stat(kernel).st_mode):  # opening a pipe would wait
            kernel.open("rb").close()
    except OSError as error:
        return None if error.errno in _NOWHERE else no_access(shown, error)
    return None


def no_access(shown: str, error: OSError) -> tuple[Status, str]:
    # Never a fail: the machine is at fault, and no student gets a zero for it.
    why = f"{shown} cannot be read on this machine: {error.strerror}."
    return Status.CANNOT_GRADE, f"{why} See that the grading account may read it; then grade again."


def _stays_inside(path: Path, folder: Path) -> bool:
    try:
        # Path.resolve raises for links in a ring, which lead nowhere.
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, RecursionError):  # a link that cannot be read, or a thousand in a row
        return False


def _changes(
    exercise: Exercise, folder: Path, released: Mapping[str, ReleasedFile]
) -> Iterator[str]:
    """Yield a note for each of the course's files that is missing or different in the submission.

    A file counts as missing only where the release had it: a student may hand in kernels alone. A
    file that is as the release had it was not changed by the student. A forged manifest changes
    these notes, and nothing else: the course's own files grade every kernel.
    """
    theirs = {_file(exercise), *_files_in_others(exercise)}
    for own in sorted(exercise.folder.glob("*.py")):
        shown = own.relative_to(exercise.root).as_posix()
        if own.name in theirs:
            continue
        if what := _difference(own, shown, folder, released.get(shown)):
            yield f"{shown} {what}: graded with the course's own"


def _files_in_others(exercise: Exercise) -> Iterator[str]:
    with suppress(BrokenExercise):  # grading that exercise reports it
        yield from (one.file for one in exercise.in_all_backends)


def _difference(own: Path, shown: str, folder: Path, released: ReleasedFile | None) -> str:
    theirs = folder / shown
    if not os.path.lexists(theirs):
        return "is missing" if released else ""
    if _same(own, theirs):
        return ""
    as_released = released and _is_released(folder, released)
    return "is of another release" if as_released else "was changed"


def _is_released(folder: Path, file: ReleasedFile) -> bool:
    try:
        small = (folder / file.path).stat().st_size <= LARGEST_FILE
    except OSError:
        return False
    return small and manifest.is_unchanged(folder, file)


def _same(own: Path, other: Path) -> bool:
    try:
        if not other.is_file() or other.stat().st_size != own.stat().st_size:
            return False
        return other.read_bytes() == own.read_bytes()
    except OSError:
        return False
