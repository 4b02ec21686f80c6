"""`grader update`: a student's repository brought to a newer release, their kernels left alone.

All is decided first, from what both releases hold and what lies in the repository; then the new
files are laid ready, and only then does anything change. `release.json` changes last: an update
that was cut off is completed by running it again, which ends where one run would have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from packaging.version import InvalidVersion, Version

from grader.classroom.release import repository
from grader.course import Manifest, ReleasedFile, manifest
from grader.model import UsageError, staged_files


class Action(StrEnum):
    """What happens to one file."""

    ADD = "added"
    REPLACE = "replaced"
    SET_ASIDE = "set aside"  # the student's version is renamed, then the new one added
    KEEP = "kept"  # a kernel that the student has worked on; its stub has changed
    REMOVE = "removed"
    LEAVE = "left"  # the new release has it no more, but the student changed it, or it is a kernel


class State(StrEnum):
    """What lies at the place of a released file, other than a plain file."""

    MISSING = "missing"
    LINK = "link"
    IN_THE_WAY = "in the way"  # a folder, or a file or link where a folder should be


@dataclass(frozen=True)
class Step:
    """One file of the plan; `aside` is the path that the student's version gets."""

    action: Action
    path: str
    aside: str = ""


@dataclass(frozen=True)
class Plan:
    """What an update does, in the order in which it is told; nothing where all is there already."""

    old: Manifest
    new: Manifest
    steps: tuple[Step, ...]


def plan(
    old: Manifest, new: Manifest, lies: Callable[[str], str], taken: Callable[[str], bool]
) -> Plan:
    """What brings a repository made from `old` to `new`.

    `lies` tells what is at a path: the SHA-256 of a plain file, or a State; `taken` whether a path
    is in use. Raises UsageError for a release of another course, one that is older, and for a
    folder or a link at the place of a file.
    """
    _require_newer(old, new)
    states = {file.path: lies(file.path) for file in (*old.files, *new.files)}
    if blocked := [path for path, state in states.items() if state == State.IN_THE_WAY]:
        raise UsageError(
            f"Nothing was updated: a folder or a link lies where the release has {blocked[0]}.",
            "Move it away, then update again.",
        )
    before = {file.path: file for file in old.files}
    after = {file.path for file in new.files}
    steps = [_step(file, before, states[file.path], old.version, taken) for file in new.files]
    steps += [_gone(file, states[file.path]) for file in old.files if file.path not in after]
    return Plan(old, new, tuple(step for step in steps if step is not None))


def _require_newer(old: Manifest, new: Manifest) -> None:
    if new.course != old.course:
        raise UsageError(
            f"Nothing was updated: the release is of the course {new.course!r}, and this "
            f"repository of {old.course!r}.",
            "Name a release of your own course.",
        )
    if new.version == old.version and new.content != old.content:
        raise UsageError(
            f"Nothing was updated: both are version {old.version}, and yet they differ.",
            "Tell whoever runs the course: a changed release needs a higher version.",
        )
    try:
        older = Version(new.version) < Version(old.version)
    except InvalidVersion as error:
        raise UsageError(f"Nothing was updated: {error}.", "Versions look like 2026.1.") from None
    if older:
        raise UsageError(
            f"Nothing was updated: the release is version {new.version}, and this repository has "
            f"{old.version} already.",
            "Name a newer release.",
        )


def _step(
    file: ReleasedFile,
    before: Mapping[str, ReleasedFile],
    state: str,
    version: str,
    taken: Callable[[str], bool],
) -> Step | None:
    """What happens to a file of the new release, of which `state` lies there; None: nothing."""
    was = before.get(file.path)
    if state == file.sha256:
        return None
    if state == State.MISSING:
        return Step(Action.ADD, file.path)
    if was is not None and state == was.sha256:
        return Step(Action.REPLACE, file.path)
    if file.kernel:
        # Of a stub that stayed the same there is nothing to tell.
        return (
            None if was is not None and was.sha256 == file.sha256 else Step(Action.KEEP, file.path)
        )
    return Step(Action.SET_ASIDE, file.path, _aside(file.path, version, taken))


def _gone(file: ReleasedFile, state: str) -> Step | None:
    """What happens to a file that the new release has no more."""
    if state == State.MISSING:
        return None
    unchanged = state == file.sha256 and not file.kernel
    return Step(Action.REMOVE if unchanged else Action.LEAVE, file.path)


def _aside(path: str, version: str, taken: Callable[[str], bool]) -> str:
    """A free name beside a file for the student's version of it: not a name that Python loads."""
    name = f"{path}.yours-{version}"
    number = 1
    while taken(name if number == 1 else f"{name}-{number}"):
        number += 1
    return name if number == 1 else f"{name}-{number}"


def run(folder: Path, source: str) -> Plan:
    """Bring the student's repository in `folder` to the release at `source`; tell what was done.

    `source` is the folder of a release, or a repository that git clones. Raises UsageError as
    `plan` does, and where `source` is no release or not as it was released, or cannot be had.
    """
    old = manifest.read(folder)
    with _opened(source) as release:
        new = manifest.read(release)
        manifest.require_unchanged(release, new, "Nothing was updated: ")
        planned = plan(
            old,
            new,
            lambda path: _state(folder, path),
            lambda path: (folder / path).is_symlink() or (folder / path).exists(),
        )
        try:
            _apply(planned, folder, release)
        except OSError as error:
            raise UsageError(
                f"The update stopped: {error.filename}: {error.strerror}.",
                "Your kernels are as they were. Once that is mended, the same command goes on.",
            ) from None
    return planned


@contextmanager
def _opened(source: str) -> Iterator[Path]:
    if (Path(source) / manifest.FILE).is_file():
        yield Path(source)
        return
    if Path(source).is_dir() and not (Path(source) / "HEAD").is_file():
        manifest.read(Path(source))  # raises: neither a release nor a bare repository
    with tempfile.TemporaryDirectory() as beside:
        repository.clone(source, Path(beside) / "release")
        yield Path(beside) / "release"


def _state(folder: Path, path: str) -> str:
    """What lies at a path of a repository, with no link followed on the way there."""
    place = folder
    for part in PurePosixPath(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return State.IN_THE_WAY
    place = folder / path
    if place.is_symlink():
        return State.LINK
    if not place.exists():
        return State.MISSING
    if not place.is_file():
        return State.IN_THE_WAY
    try:
        return manifest.digest(place.read_bytes())
    except OSError as error:
        raise UsageError(
            f"Nothing was updated: {place} cannot be read: {error.strerror}.",
            "See its permissions.",
        ) from None


def _apply(planned: Plan, folder: Path, release: Path) -> None:
    writes = {Action.ADD, Action.REPLACE, Action.SET_ASIDE}
    written = [step.path for step in planned.steps if step.action in writes] + [manifest.FILE]
    with staged_files(folder, {path: (release / path).read_bytes() for path in written}):
        for step in planned.steps:
            if step.action is Action.SET_ASIDE:
                (folder / step.path).rename(folder / step.aside)
            elif step.action is Action.REMOVE:
                (folder / step.path).unlink()
                _remove_empty((folder / step.path).parent, folder)


def _remove_empty(place: Path, top: Path) -> None:
    while place != top and not any(place.iterdir()):
        place.rmdir()
        place = place.parent
