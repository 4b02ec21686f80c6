"""The zip from which Gradescope builds an autograder: a released course, and what runs it there."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from grader.course import SHELVES
from grader.errors import UsageError

SCRIPTS = ("setup.sh", "run_autograder")  # at the top of the zip, as Gradescope wants them
LARGEST = 100 << 20  # bytes in all; Gradescope takes no larger zip


def autograder_zip(release: Path) -> bytes:
    """The zip for a folder that `grader release` wrote. The same folder makes the same bytes.

    Raises UsageError for a folder that is none, and for one that holds solutions.
    """
    _must_be_a_release(release)
    members = {name: _script(name) for name in SCRIPTS}
    for path in _files(release):
        members[f"course/{path.relative_to(release).as_posix()}"] = path.read_bytes()
    if sum(map(len, members.values())) > LARGEST:
        raise UsageError(
            f"{release} holds more than {LARGEST >> 20} MiB, which Gradescope does not take.",
            "Give the folder as `grader release` wrote it.",
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(members.items()):
            member = zipfile.ZipInfo(name)  # dated 1980-01-01, the first day that zip knows
            member.external_attr = (0o755 if name in SCRIPTS else 0o644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return packed.getvalue()


def _must_be_a_release(folder: Path) -> None:
    has_exercises = any((folder / shelf).is_dir() for shelf in SHELVES)
    if not has_exercises or not (folder / "requirements.txt").is_file():
        raise UsageError(
            f"{folder} is no released course: it lacks exercises or requirements.txt.",
            "`grader release --out DIR` writes one; name that folder.",
        )
    if os.path.lexists(folder / "solutions"):
        raise UsageError(
            f"{folder} holds solutions, and students can read what Gradescope runs.",
            "Name the folder that `grader release` wrote, not the course that it came from.",
        )


def _script(name: str) -> bytes:
    return (resources.files("grader.gradescope") / name).read_bytes()


def _files(release: Path) -> Iterator[Path]:
    """The plain files, without what begins with a dot. Raises UsageError for a link."""
    for folder, folders, names in os.walk(release):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        for name in sorted([*names, *(f for f in folders if Path(folder, f).is_symlink())]):
            path = Path(folder, name)
            if path.is_symlink():
                raise UsageError(
                    f"{path} is a link, which a zip does not keep.", "Put the file itself there."
                )
            if not name.startswith("."):
                yield path
