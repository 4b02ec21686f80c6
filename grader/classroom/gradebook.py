"""From the files that were kept of a class to attempts, and to the reasons for what is left out.

A file holds grader/result/v1, grader/attempt/v1 or grader/signed/v1, one a line or one alone. A
bare result names no student: it is taken to be of whoever its file is called after, as in
`ada.jsonl`. Where that makes one student of several files, it is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from grader.classroom import documents, signing
from grader.classroom.board.entries import MOST_POINTS
from grader.classroom.board.people import Forbidden
from grader.classroom.documents import Unusable
from grader.model import (
    EXIT_CODES,
    Attempt,
    Signed,
    Status,
    first_fault,
    login_of,
    parse_result,
    quoted,
    sortable,
    texts,
    to_come,
    utc,
)


class Keep(StrEnum):
    """Which of several attempts of one student at one exercise counts."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class Context:
    """What attempts are held against: their course, the names of its exercises, and the time.

    `trusted` are public keys by fingerprint. With any of them, only what is signed with one of them
    is taken; without, nothing signed is.
    """

    course: str
    exercises: Collection[str]
    now: datetime
    trusted: Mapping[str, Ed25519PublicKey] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """Attempts in the order in which they were handed in, and what is left out, with its place.

    Names of students are left out, too, where several files of bare results are called alike.
    """

    attempts: tuple[Attempt, ...]
    problems: tuple[str, ...]


def read(paths: Sequence[Path], context: Context) -> Kept:
    """The attempts in files and folders, as far as they count in this context.

    Raises UsageError for a path that is not there.
    """
    bare: dict[str, set[Path]] = {}
    whole = documents.read(paths, lambda path: partial(_attempts, path, context, bare))
    found: dict[str, tuple[str, Attempt]] = {}
    problems = documents.told(whole.problems)
    for place, attempt in whole.found:
        first, known = found.setdefault(attempt.id, (place, attempt))
        if known is not attempt:
            problems.append(f"{place}: the same attempt stands in {first}, and counts once")
    problems += (_nameless(files) for files in bare.values() if len(files) > 1)
    attempts = sorted((attempt for _, attempt in found.values()), key=_handed_in)
    return Kept(tuple(_spelt_alike(attempts)), tuple(problems))


def _nameless(files: Collection[Path]) -> str:
    """Of files of bare results that are called alike: `results.jsonl` of ada's, and of bob's."""
    first = min(files)
    return (
        f"whose results {len(files):,} files have, such as {quoted(str(first), 200)}: they name no "
        f"student, and were all taken to be of {quoted(first.stem)}; call each file after its "
        "student, or have `grader ci` report attempts, which name the student"
    )


def _spelt_alike(attempts: Sequence[Attempt]) -> Iterator[Attempt]:
    """One student's attempts stand under the login of the first."""
    spelt: dict[str, str] = {}
    for attempt in attempts:
        student = spelt.setdefault(login_of(attempt.student), attempt.student)
        same = attempt.student == student
        yield attempt if same else attempt.model_copy(update={"student": student})


def _handed_in(attempt: Attempt) -> tuple[datetime, str, str]:
    """What sorts attempts: of one commit that was graded twice, the later grading counts as later.

    A file may say anything of when it was graded, and is not refused for that.
    """
    return utc(attempt.submitted_at), sortable(attempt.result.started_at), attempt.id


def _attempts(
    path: Path, context: Context, bare: dict[str, set[Path]], document: bytes
) -> Iterator[Attempt | Unusable]:
    """What a text of a file holds. Raises Unusable.

    The file of a bare result goes to `bare`, under the login that its name is taken for.
    """
    schema = documents.schema_of(document)
    try:
        if schema == "grader/signed/v1":
            yield from _opened(Signed.model_validate_json(document), context)
        elif schema in ("grader/attempt/v1", "grader/result/v1") and context.trusted:
            raise Unusable("it is not signed, and only what is signed counts here")
        elif schema == "grader/attempt/v1":
            yield _told(Attempt.model_validate_json(document), context)
        elif schema == "grader/result/v1":
            told = _told(_of(document, path.stem, context.course), context)
            if isinstance(told, Attempt):
                bare.setdefault(login_of(path.stem), set()).add(path)
            yield told
        else:
            raise Unusable(
                f"it is a {quoted(schema)}, and what is read here is grader/result, attempt and "
                "signed/v1"
            )
    except ValidationError as error:
        raise Unusable(f"it is no whole {schema}: {first_fault(error)}") from None


def _opened(signed: Signed, context: Context) -> Iterator[Attempt | Unusable]:
    """The attempts of a signed run, each judged by itself. Raises Unusable for the whole run."""
    if not context.trusted:
        raise Unusable("it is signed: name the public key that it must be signed with (--trust)")
    try:
        texts = signing.lines(signed, context.trusted)
    except signing.NotGenuine as error:
        raise Unusable(str(error)) from None
    for number, text in enumerate(texts, 1):
        told = _signed_attempt(text, context)
        if isinstance(told, Unusable):
            told = Unusable(f"attempt {number} of this run: {told}")
        yield told


def _signed_attempt(text: bytes, context: Context) -> Attempt | Unusable:
    try:
        attempt = Attempt.model_validate_json(text)
    except ValidationError as error:
        return Unusable(f"it is no whole grader/attempt/v1: {first_fault(error)}")
    return _told(attempt, context)


def _told(attempt: Attempt, context: Context) -> Attempt | Unusable:
    """The attempt, or why neither a board nor an export counts it."""
    if attempt.course != context.course:
        return Unusable(f"it is of another course: {quoted(attempt.course)}")
    result, handed_in = attempt.result, f"it was handed in at {quoted(attempt.submitted_at)}"
    if result.exercise not in context.exercises:
        return Unusable(f"the course has no exercise {quoted(result.exercise)}, which it is of")
    if not attempt.student.strip():
        return Unusable("it names no student")
    if not 0 <= result.points <= result.max_points <= MOST_POINTS:
        return Unusable(
            f"its figures contradict each other: {result.points:,} of {result.max_points:,} points"
        )
    try:
        time = utc(attempt.submitted_at)
    except ValueError:
        return Unusable(f"{handed_in}, which is no time")
    if to_come(time, context.now):
        return Unusable(
            f"{handed_in}, which is yet to come: a clock is wrong, and what is exported after that "
            "time has it"
        )
    return attempt


def _of(document: bytes, student: str, course: str) -> Attempt:
    """A bare result as an attempt of this course, known by its own digest."""
    result = parse_result(document)
    return Attempt(
        id=hashlib.sha256(document.strip() + student.encode()).hexdigest()[:32],
        course=course,
        version="",
        student=student,
        submitted_at=result.started_at,
        result=result,
    )


def decided(attempts: Sequence[Attempt], reasons: Mapping[str, str]) -> list[Attempt]:
    """The attempts, those that a teacher took back with the reason in place of points.

    `reasons` are by the attempt's id. As on a board they show nobody's login.
    """
    forbidden = Forbidden({attempt.student for attempt in attempts})
    return [
        _taken_back(attempt, forbidden.without(texts.clean_line(reasons[attempt.id])))
        if attempt.id in reasons
        else attempt
        for attempt in attempts
    ]


def _taken_back(attempt: Attempt, reason: str) -> Attempt:
    """It fails with 0 points, and is not missing: points that were exported before are replaced."""
    changed = {
        "status": Status.FAIL,
        "points": 0,
        "steps": (),
        "sanitized": (),
        "message": f"This attempt was taken back: {reason}",
    }
    return attempt.model_copy(update={"result": attempt.result.model_copy(update=changed)})


def chosen(
    attempts: Sequence[Attempt], keep: Keep, taken_back: Collection[str] = ()
) -> list[Attempt]:
    """One attempt for each student and exercise.

    One that could be graded counts before those that were taken back, whose ids are given, and
    these before the others. The best has the most points, and of equals is the first. `attempts`
    are in order of time.
    """

    def weight(attempt: Attempt) -> int:
        if attempt.id in taken_back:
            return 1
        return 2 if EXIT_CODES[attempt.result.status] in (0, 1) else 0

    def counts_before(later: Attempt, earlier: Attempt) -> bool:
        if weight(later) != weight(earlier):
            return weight(later) > weight(earlier)
        return keep is Keep.LAST or later.result.points > earlier.result.points

    kept: dict[tuple[str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.student, attempt.result.exercise
        if key not in kept or counts_before(attempt, kept[key]):
            kept[key] = attempt
    return list(kept.values())
