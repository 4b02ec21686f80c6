"""`release.json`: the list of a release's files, `grader/release/v1`.

A student's repository carries it. It shows which of the course's files were changed, when somebody
grades or updates the repository. The student can change the manifest as well: to grade, compare the
repository with the manifest of the instructor's own copy of the release.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from grader.model import Record, UsageError, first_error

FILE = "release.json"
LARGEST = 16 << 20  # bytes of a release.json; 20 kB describe 33 exercises


class ReleasedFile(Record):
    """One file of a release."""

    path: str = Field(description="from the top of the repository, with `/`")
    sha256: str = Field(description="of the released content, hexadecimal")
    kernel: bool = Field(
        default=False, description="whether it is a stub, the student's own from the release on"
    )

    @field_validator("path")
    @classmethod
    def _is_inside(cls, path: str) -> str:
        """Refuse a path that leads out of the repository, into .git, or elsewhere on Windows."""
        parts = PurePosixPath(path).parts
        if (
            not parts
            or path != "/".join(parts)
            or path == FILE
            or path.startswith("/")
            or re.search(r"[\\:\x00-\x1f\x7f]", path)
            or any(part == ".." or part.lower() == ".git" for part in parts)
        ):
            raise ValueError(f"{path!r} is not the path of a released file")
        return path


class Manifest(Record):
    """A release of a course."""

    schema_: Literal["grader/release/v1"] = Field(default="grader/release/v1", alias="schema")
    course: str = Field(description="the course's name in course.toml")
    version: str = Field(description="the course's version in course.toml")
    grader: str = Field(description="version of the grader that made the release")
    content: str = Field(
        description="SHA-256 over the files' paths and digests, hexadecimal: the same for releases "
        "of the same content"
    )
    files: tuple[ReleasedFile, ...] = Field(description="in the order of their paths")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        paths = [file.path for file in self.files]
        if len({path.lower() for path in paths}) != len(paths):
            raise ValueError("two of its files have one path")
        if self.content != content_of(self.files):
            raise ValueError("`content` is not the digest of its files")
        return self


def build(
    course: str, version: str, grader: str, files: Iterable[tuple[str, bytes, bool]]
) -> Manifest:
    listed = tuple(
        ReleasedFile(path=path, sha256=digest(content), kernel=kernel)
        for path, content, kernel in sorted(files)
    )
    return Manifest(
        course=course, version=version, grader=grader, content=content_of(listed), files=listed
    )


def content_of(files: Iterable[ReleasedFile]) -> str:
    lines = (json.dumps([file.path, file.sha256, file.kernel]) for file in files)
    return digest("\n".join(lines).encode())


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def to_json(manifest: Manifest) -> str:
    return manifest.model_dump_json(by_alias=True, indent=2) + "\n"


def read(folder: Path) -> Manifest:
    """Read the manifest of the release in a folder. Raises UsageError where there is none."""
    path = folder / FILE
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        fault = f"{folder} is not a release of a course: it has no {FILE}."
    except OSError as error:
        fault = f"{path} cannot be read: {error.strerror}."
    except ValidationError as error:
        fault = f"{path} is no grader/release/v1: {first_error(error)}."
    except ValueError as error:
        fault = f"{path} cannot be used: {error}."
    raise UsageError(fault, "`grader release` makes one, and students get it with their files.")


def json_schema() -> dict[str, Any]:
    schema = Manifest.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def require_unchanged(folder: Path, manifest: Manifest, outcome: str = "") -> None:
    """Raise UsageError when a file of the release, or a stub, differs from the released one.

    `outcome`, for example "Nothing was updated: ", begins the message.
    """
    differing = (file.path for file in manifest.files if not is_unchanged(folder, file))
    if (path := next(differing, None)) is not None:
        raise UsageError(
            f"{outcome}{path} in {folder} was changed after the release.",
            "Name the release itself, not a copy that somebody works in.",
        )


def is_unchanged(folder: Path, file: ReleasedFile) -> bool:
    """Report whether `folder` holds this content at this path, with no link on the way."""
    path = folder / file.path
    try:
        plain = path.is_file() and path.resolve() == folder.resolve() / file.path
        return plain and digest(path.read_bytes()) == file.sha256
    except OSError:
        return False
