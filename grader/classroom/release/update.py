"""`grader update`: bring a student's repository to a newer release, and leave its kernels alone.

The plan comes first, from the files of both releases and of the repository. Then the new files are
staged, and only then does anything change. `release.json` changes last: after an interrupted
update, a second run completes it, with the same result as one run.
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
    """The change to one file."""

    ADD = "added"
    REPLACE = "replaced"
    SET_ASIDE = "set aside"  # the student's version is renamed, and the new one added
    KEEP = "kept"  # a kernel that the student has worked on; its stub has changed
    REMOVE = "removed"
    LEAVE = "left"  # the new release lacks it, but the student changed it, or it is a kernel


class State(StrEnum):
    """The reasons why the path of a released file holds no plain file."""

    MISSING = "missing"
    LINK = "link"
    IN_THE_WAY = "in the way"  # a folder, or a file or link where a folder should be


@dataclass(frozen=True)
class Step:
    """The change to one file; `aside` is the new path of the student's version."""

    action: Action
    path: str
    aside: str = ""


@dataclass(frozen=True)
class Plan:
    """The steps of an update, in the order in which they are printed; none if it is up to date."""

    old: Manifest
    new: Manifest
    steps: tuple[Step, ...]


def plan(
    old: Manifest,
    new: Manifest,
    state_of: Callable[[str], str],
    in_use: Callable[[str], bool],
    anew: bool = False,
) -> Plan:
    """Plan the steps that bring a repository from release `old` to `new`.

    `state_of` a path is the SHA-256 of a plain file, or a State. With `anew`, `new` may be another
    release of the same version. Raises UsageError for a release of another course, for an older
    one, and for a folder or a link at the place of a file.
    """
    _require_newer(old, new, anew)
    states = {file.path: state_of(file.path) for file in (*old.files, *new.files)}
    if blocked := [path for path, state in states.items() if state == State.IN_THE_WAY]:
        raise UsageError(
            f"Nothing was updated: a folder or a link lies where the release has {blocked[0]}.",
            "Move it away, then update again.",
        )
    before = {file.path: file for file in old.files}
    after = {file.path for file in new.files}
    steps = [_step(file, before, states[file.path], old.version, in_use) for file in new.files]
    steps += [_step_of_removed(f, states[f.path]) for f in old.files if f.path not in after]
    return Plan(old, new, tuple(step for step in steps if step is not None))


def _require_newer(old: Manifest, new: Manifest, anew: bool) -> None:
    if new.course != old.course:
        raise UsageError(
            f"Nothing was updated: the release is of the course {new.course!r}, and this "
            f"repository of {old.course!r}.",
            "Name a release of your own course.",
        )
    if new.version == old.version and new.content != old.content and not anew:
        raise UsageError(
            f"Nothing was updated: both releases are version {old.version}, but they differ.",
            "Tell your instructor: a changed release needs a higher version.",
        )
    try:
        older = Version(new.version) < Version(old.version)
    except InvalidVersion as error:
        raise UsageError(f"Nothing was updated: {error}.", "Versions look like 2026.1.") from None
    if older:
        raise UsageError(
            f"Nothing was updated: the release is version {new.version}, and this repository has "
            f"the newer {old.version}.",
            "Name a newer release.",
        )


def _step(
    file: ReleasedFile,
    before: Mapping[str, ReleasedFile],
    state: str,
    version: str,
    in_use: Callable[[str], bool],
) -> Step | None:
    was = before.get(file.path)
    if state == file.sha256:
        return None
    if state == State.MISSING:
        return Step(Action.ADD, file.path)
    if was is not None and state == was.sha256:
        return Step(Action.REPLACE, file.path)
    if file.kernel:
        same_stub = was is not None and was.sha256 == file.sha256
        return None if same_stub else Step(Action.KEEP, file.path)
    return Step(Action.SET_ASIDE, file.path, _free_name(file.path, version, in_use))


def _step_of_removed(file: ReleasedFile, state: str) -> Step | None:
    if state == State.MISSING:
        return None
    unchanged = state == file.sha256 and not file.kernel
    return Step(Action.REMOVE if unchanged else Action.LEAVE, file.path)


def _free_name(path: str, version: str, in_use: Callable[[str], bool]) -> str:
    name = f"{path}.yours-{version}"  # no ending that Python would import
    number = 1
    while in_use(name if number == 1 else f"{name}-{number}"):
        number += 1
    return name if number == 1 else f"{name}-{number}"


def run(folder: Path, source: str, anew: bool = False) -> Plan:
    """Bring the student's repository in `folder` to the release at `source`; return the plan.

    `source` is the folder of a release, or a repository that git clones. Raises UsageError as
    `plan` does, and where `source` is not a release, was changed since, or cannot be cloned.
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
            anew,
        )
        try:
            _apply(planned, folder, release)
        except OSError as error:
            raise UsageError(
                f"The update stopped: {error.filename}: {error.strerror}.",
                "Your kernels are as they were. Fix that, then run the same command again.",
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
    place = folder  # no link is followed on the way from here
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
            "Check its permissions.",
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
