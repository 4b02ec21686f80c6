"""The files of a course that students get: those on this list, and nothing else.

From an exercise: README.md, spec.py, test_kernel.py, eager.py, and kernel.py as the stub that its
present solution makes, whatever the working tree holds, and once more under `.stubs/`; likewise the
stub of a solution in another backend. From the course: course.toml, its
extensions, the README.md of each shelf and the pages beside it that it links to, LICENSE, the CI
file of the chosen kind, and the files that `--with` names. No link of the file system is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from grader.course import EXTENSIONS, SHELVES, Exercise, ReleasedFile, stubs
from grader.course import FILE as SETTINGS
from grader.grading import kind_of
from grader.model import BrokenExercise, UsageError

OF_AN_EXERCISE = ("README.md", "spec.py", "test_kernel.py", "eager.py")
LICENSE = "LICENSE"
CLASSROOM = "classroom"  # the course's folder with the files below


# The file in classroom/KIND/ of the course, and the path where that system looks for it.
CI_FILES = {
    "github": ("check.yml", ".github/workflows/check.yml"),
    "gitlab": ("check.yml", ".gitlab-ci.yml"),
    "classroom50": ("autograder.py", "autograder.py"),
}


@dataclass
class Contents:
    """Files by their paths in the release, the paths of kernels, and notes for the author."""

    files: dict[str, bytes] = field(default_factory=dict)
    kernels: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def collect(
    root: Path, exercises: Sequence[Exercise], ci: str | None, extra: Sequence[Path]
) -> Contents:
    """Collect the contents from the course in `root`: exercises, and `extra` files of the course.

    `ci` is one of CI_FILES, or None. Raises UsageError for a missing file, and BrokenExercise for a
    link or an exercise that must not be released.
    """
    contents = Contents()
    contents.files[SETTINGS] = _read(root / SETTINGS)
    for shelf in SHELVES:
        if any(exercise.folder.parent == root / shelf for exercise in exercises):
            _take_pages(contents, root, root / shelf)
    _take_if_there(contents, root, root / LICENSE)
    _take_extensions(contents, root)
    for exercise in exercises:
        _take_exercise(contents, root, exercise)
    if ci is not None:
        name, path = CI_FILES[ci]
        contents.files[path] = _ci_file(root / CLASSROOM / ci / name)
    for named in extra:
        _take_extra(contents, root, named)
    contents.notes += _left_out(root, exercises, contents.files)
    contents.notes += _dead_links(root, contents.files)
    return contents


def _take_exercise(contents: Contents, root: Path, exercise: Exercise) -> None:
    if not re.fullmatch(r"\w[\w.-]*", exercise.name):
        raise BrokenExercise(
            f"The exercise {exercise.name!r} cannot be released under this name.",
            "Rename its folder: begin with a letter, a digit or '_', then add only these, '.' "
            "and '-'.",
        )
    for folder in (exercise.folder, exercise.folder.parent):
        _refuse_link(folder)
    for name in OF_AN_EXERCISE:
        _take_if_there(contents, root, exercise.folder / name)
    for one in exercise.in_all_backends:
        path = one.kernel.relative_to(root).as_posix()
        make = kind_of(one.any_spec).stub
        contents.files[path] = stubs.stub_of(one, make).encode()
        contents.kernels.add(path)
        # Once more, for `grader reset`, where no learner writes.
        contents.files[one.released_stub.relative_to(root).as_posix()] = contents.files[path]
        if stubs.drifted(one, make):
            contents.notes.append(
                f"{path}: the stub that its solution makes is released in its place"
            )


def _take_extensions(contents: Contents, root: Path) -> None:
    """Take every file of the course's extensions: without them its exercises do not load."""
    _refuse_link(root / EXTENSIONS)
    for path in sorted((root / EXTENSIONS).rglob("*")):
        inner = path.relative_to(root).parts
        if not any(part.startswith(".") or part == "__pycache__" for part in inner):
            _refuse_link(path)
            if not path.is_dir():
                _take_if_there(contents, root, path)


def _take_pages(contents: Contents, root: Path, shelf: Path) -> None:
    page = shelf / "README.md"
    _take_if_there(contents, root, page)
    text = contents.files.get(page.relative_to(root).as_posix(), b"")
    for name in sorted(set(re.findall(rb"\]\(([\w-]+\.md)[#)]", text))):
        _take_if_there(contents, root, shelf / name.decode())


def _take_if_there(contents: Contents, root: Path, path: Path) -> None:
    if path.is_symlink() or path.exists():
        contents.files[path.relative_to(root).as_posix()] = _read(path)


def _take_extra(contents: Contents, root: Path, path: Path) -> None:
    inside = root / path
    if not inside.resolve().is_relative_to(root.resolve()):
        raise UsageError(
            f"--with {path}: it lies outside of the course {root}.", "Name a file of the course."
        )
    released = inside.resolve().relative_to(root.resolve()).as_posix()
    try:
        ReleasedFile(path=released, sha256="")
    except ValidationError:
        raise UsageError(
            f"--with {path}: no file of a release can have this name.", "Give it another name."
        ) from None
    if released in contents.files:
        raise UsageError(f"--with {path}: it is released anyway.", f"Leave out --with {path}.")
    if not inside.is_file():
        raise UsageError(
            f"--with {path}: the course {root} has no such file.",
            "Name a file by its path from the top of the course; of a folder, name each file.",
        )
    contents.files[released] = _read(inside)


def _ci_file(path: Path) -> bytes:
    if not path.is_file():
        raise UsageError(
            f"The CI file {path} is missing.",
            "Copy classroom/ from the repository of kernel-grader into the course, or choose "
            "--ci none.",
        )
    return _read(path)


def _read(path: Path) -> bytes:
    _refuse_link(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Make it readable, or take it away."
        ) from None


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise BrokenExercise(
            f"{path} is a link, and its target may be private.", "Put the file itself there."
        )


def _left_out(
    root: Path, exercises: Sequence[Exercise], released: dict[str, bytes]
) -> Iterator[str]:
    for exercise in exercises:
        for path in sorted(exercise.folder.rglob("*")):
            inner = path.relative_to(exercise.folder).parts
            hidden = any(part.startswith(".") or part == "__pycache__" for part in inner)
            place = path.relative_to(root).as_posix()
            if not hidden and not path.is_dir() and place not in released:
                yield f"{place}: not released; --with {place} releases it"


def _dead_links(root: Path, files: dict[str, bytes]) -> Iterator[str]:
    """Note each link from a lesson to a file of the course that is not released with it."""
    for path, content in files.items():
        if not path.endswith(".md"):
            continue
        for target in re.findall(rb"\]\(([^)#:\s]+)", content):
            linked = os.path.normpath(f"{os.path.dirname(path)}/{target.decode(errors='replace')}")
            released = any(one == linked or one.startswith(f"{linked}/") for one in files)
            # `kernel[1, 64](a, out)` looks like a link, too.
            if not released and (root / linked).exists():
                yield f"{path}: it links to {linked}, which is not released"
