"""The zip from which Gradescope builds an autograder: a released course and two scripts."""

from __future__ import annotations

import io
import zipfile
from importlib import resources
from pathlib import Path

from grader.course import manifest
from grader.model import UsageError

SCRIPTS = ("setup.sh", "run_autograder")  # at the top of the zip, as Gradescope wants them
LARGEST = 100 << 20  # bytes in all; Gradescope takes no larger zip


def autograder_zip(release: Path) -> bytes:
    """Pack a folder that `grader release` wrote. The same release makes the same bytes.

    The zip holds only the files that the release lists, because students can read the files on
    Gradescope. Raises UsageError for a folder that is not a release or has a changed file.
    """
    listed = manifest.read(release)
    manifest.require_unchanged(release, listed)
    members = {name: _script(name) for name in SCRIPTS}
    for path in (manifest.FILE, *(file.path for file in listed.files)):
        members[f"course/{path}"] = (release / path).read_bytes()
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


def _script(name: str) -> bytes:
    return (resources.files("grader.classroom.gradescope") / name).read_bytes()
