"""From the files that were kept of a class to attempts, and to the reasons for what is left out.

A file holds grader/result/v1, grader/attempt/v1 or grader/signed/v1, one a line or one alone. A
bare result names no student: it is taken to be of whoever its file is called after, as in
`ada.jsonl`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from grader import signing
from grader.attempts import Attempt, Signed
from grader.results import from_json
from grader.verdict import EXIT_CODES

ENDINGS = (".json", ".jsonl")
LARGEST = 256 << 20  # bytes of one file
LARGEST_RECORD = 1 << 20  # bytes of one record in it; the longest of ours have some thousands


class Keep(StrEnum):
    """Which of several attempts of one student at one exercise counts."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class Kept:
    """Attempts in the order in which they were handed in, and what is left out, with its place."""

    attempts: tuple[Attempt, ...]
    problems: tuple[str, ...]


class _Unusable(Exception):
    """Why a document is left out: `str(error)`."""


def read(paths: Sequence[Path], trusted: Mapping[str, Ed25519PublicKey]) -> Kept:
    """The attempts in files and folders; `trusted` are public keys by fingerprint.

    With any of them, only what is signed with one of them is taken; without, nothing signed is.
    """
    found: dict[str, tuple[str, Attempt]] = {}
    problems: list[str] = []
    for path in _files(paths):
        try:
            documents = list(_documents(path))
        except (OSError, _Unusable) as error:
            why = error.strerror if isinstance(error, OSError) else error
            problems.append(f"{path}: {why}")
            continue
        if not documents:
            problems.append(f"{path}: it is empty")
        for place, document in documents:
            try:
                attempt = _attempt(document, path.stem, trusted)
            except _Unusable as error:
                problems.append(f"{place}: {error}")
                continue
            first, _ = found.setdefault(attempt.id, (place, attempt))
            if first != place:
                problems.append(f"{place}: the same attempt stands in {first}, and counts once")
    attempts = sorted((attempt for _, attempt in found.values()), key=_handed_in)
    return Kept(tuple(attempts), tuple(problems))


def _handed_in(attempt: Attempt) -> tuple[datetime, str]:
    """When, for sorting; a time that is none stands first."""
    try:
        time = datetime.fromisoformat(attempt.submitted_at)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)), attempt.id
    except ValueError:
        return datetime.min.replace(tzinfo=UTC), attempt.id


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Each once. Of a folder what lies in it at any depth; links in it are not followed."""
    seen: set[str] = set()
    for path in paths:
        inside = sorted(_within(path)) if path.is_dir() else [path]
        for file in inside:
            if (whole := os.path.abspath(file)) not in seen:
                seen.add(whole)
                yield file


def _within(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ENDINGS) and not Path(where, name).is_symlink():
                yield Path(where, name)


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The JSON texts of a file with their places: its lines, or the whole where it is one text."""
    if not path.is_file():
        raise _Unusable("there is no such file" if not path.exists() else "it is no plain file")
    if (size := path.stat().st_size) > LARGEST:
        raise _Unusable(f"it has {size:,} bytes, and {LARGEST:,} are the most")
    content = path.read_bytes()
    lines = content.split(b"\n")
    first = next((line.strip() for line in lines if line.strip()), b"")
    if first and path.suffix != ".jsonl" and not first.endswith(b"}"):
        yield str(path), content
        return
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"{path}, line {number}", line


def _attempt(document: bytes, student: str, trusted: Mapping[str, Ed25519PublicKey]) -> Attempt:
    if len(document) > LARGEST_RECORD:
        raise _Unusable(f"it has {len(document):,} bytes, and {LARGEST_RECORD:,} are the most")
    try:
        record = json.loads(document)
    except (ValueError, RecursionError):
        raise _Unusable("it is no whole JSON: it may have been cut off") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    try:
        if schema == "grader/signed/v1":
            return _opened(Signed.model_validate_json(document), trusted)
        if schema in ("grader/attempt/v1", "grader/result/v1") and trusted:
            raise _Unusable("it is not signed, and only what is signed counts here")
        if schema == "grader/attempt/v1":
            return _told(Attempt.model_validate_json(document))
        if schema == "grader/result/v1":
            return _of(document, student)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _Unusable(f"it is no whole {schema}: {where}: {first['msg']}") from None
    told = f"{schema!r:.60}" if schema is not None else "no record of this grader"
    raise _Unusable(f"it is {told}, and what is read here is grader/result, attempt and signed/v1")


def _opened(signed: Signed, trusted: Mapping[str, Ed25519PublicKey]) -> Attempt:
    if not trusted:
        raise _Unusable("it is signed: name the public key that it must be signed with")
    try:
        return _told(signing.opened(signed, trusted))
    except signing.NotGenuine as error:
        raise _Unusable(str(error)) from None


def _told(attempt: Attempt) -> Attempt:
    if not attempt.student.strip():
        raise _Unusable("it names no student")
    return attempt


def _of(document: bytes, student: str) -> Attempt:
    """A bare result as an attempt, known by its own digest."""
    result = from_json(document)
    return Attempt(
        id=hashlib.sha256(document.strip() + student.encode()).hexdigest()[:32],
        course="",
        version="",
        student=student,
        submitted_at=result.started_at,
        result=result,
    )


def chosen(attempts: Sequence[Attempt], keep: Keep) -> list[Attempt]:
    """One attempt for each student and exercise; one that could be graded before any other.

    The best has the most points, and of equals is the first. `attempts` are in order of time.
    """
    kept: dict[tuple[str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.student, attempt.result.exercise
        if key not in kept or _counts_before(attempt, kept[key], keep):
            kept[key] = attempt
    return list(kept.values())


def _counts_before(later: Attempt, earlier: Attempt, keep: Keep) -> bool:
    graded = [EXIT_CODES[one.result.status] in (0, 1) for one in (later, earlier)]
    if graded[0] != graded[1]:
        return graded[0]
    return keep is Keep.LAST or later.result.points > earlier.result.points
