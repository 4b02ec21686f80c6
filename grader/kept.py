"""From the files that were kept of a class to attempts, and to the reasons for what is left out.

A file holds grader/result/v1, grader/attempt/v1 or grader/signed/v1, one a line or one alone. A
bare result names no student: it is taken to be of whoever its file is called after, as in
`ada.jsonl`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from grader import documents, signing
from grader.attempts import Attempt, Signed
from grader.documents import Unusable, shown
from grader.results import first_fault, from_json
from grader.times import utc
from grader.verdict import EXIT_CODES


class Keep(StrEnum):
    """Which of several attempts of one student at one exercise counts."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class Kept:
    """Attempts in the order in which they were handed in, and what is left out, with its place."""

    attempts: tuple[Attempt, ...]
    problems: tuple[str, ...]


def read(paths: Sequence[Path], trusted: Mapping[str, Ed25519PublicKey]) -> Kept:
    """The attempts in files and folders; `trusted` are public keys by fingerprint.

    With any of them, only what is signed with one of them is taken; without, nothing signed is.
    Raises UsageError for a path that is not there.
    """
    whole = documents.read(paths, lambda path: partial(_attempts, path.stem, trusted))
    found: dict[str, tuple[str, Attempt]] = {}
    problems = documents.told(whole.problems)
    for place, attempt in whole.found:
        first, known = found.setdefault(attempt.id, (place, attempt))
        if known is not attempt:
            problems.append(f"{place}: the same attempt stands in {first}, and counts once")
    attempts = sorted((attempt for _, attempt in found.values()), key=_handed_in)
    return Kept(tuple(attempts), tuple(problems))


def _handed_in(attempt: Attempt) -> tuple[datetime, str]:
    """When, for sorting; a time that is none stands first."""
    try:
        return utc(attempt.submitted_at), attempt.id
    except ValueError:
        return datetime.min.replace(tzinfo=UTC), attempt.id


def _attempts(
    student: str, trusted: Mapping[str, Ed25519PublicKey], document: bytes
) -> Iterator[Attempt | Unusable]:
    """What a text holds. Raises Unusable."""
    schema = documents.schema_of(document)
    try:
        if schema == "grader/signed/v1":
            yield from map(_told, _opened(Signed.model_validate_json(document), trusted))
        elif schema in ("grader/attempt/v1", "grader/result/v1") and trusted:
            raise Unusable("it is not signed, and only what is signed counts here")
        elif schema == "grader/attempt/v1":
            yield _told(Attempt.model_validate_json(document))
        elif schema == "grader/result/v1":
            yield _of(document, student)
        else:
            raise Unusable(
                f"it is a {shown(schema)}, and what is read here is grader/result, attempt and "
                "signed/v1"
            )
    except ValidationError as error:
        raise Unusable(f"it is no whole {schema}: {first_fault(error)}") from None


def _opened(signed: Signed, trusted: Mapping[str, Ed25519PublicKey]) -> list[Attempt]:
    if not trusted:
        raise Unusable("it is signed: name the public key that it must be signed with")
    try:
        return signing.opened(signed, trusted)
    except signing.NotGenuine as error:
        raise Unusable(str(error)) from None


def _told(attempt: Attempt) -> Attempt | Unusable:
    return attempt if attempt.student.strip() else Unusable("it names no student")


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
