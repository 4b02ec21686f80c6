"""The one reader of a class's stored attempts, for boards and exports alike.

Anybody may have written these files. A text holds `grader/result/v1`, `grader/attempt/v1` or
`grader/signed/v1`. An attempt that is left out has the same reason on boards and in exports.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from grader.classroom import signing
from grader.classroom.documents import Problem, Unusable, schema_of
from grader.course import catalog, settings
from grader.grading import has_step
from grader.model import (
    Attempt,
    Result,
    Signed,
    Speed,
    first_error,
    is_future,
    parse_result,
    quoted,
    stamp,
    time_key,
    utc,
)
from grader.speed import is_impossible

LONGEST_NAME = 200  # characters of a login
MOST_POINTS = 10**6  # what one result may claim
LARGEST_SHARE = 10.0  # of the ceiling: no interval of a kernel that is possible reaches so far
# The figures that boards calculate with, and the largest value of each: milliseconds, 1e9 bytes per
# second, and shares of the ceiling. Each is above 0.
BOUNDS = {
    "time_ms": 1e9,
    "bandwidth_gbps": 1e9,
    "ceiling_gbps": 1e9,
    "share": math.inf,
    "share_low": math.inf,
    "share_high": math.inf,
    "passing": LARGEST_SHARE,
}
LONGEST_FAULT = 120  # characters of the message on a malformed record
ATTEMPT, RESULT, SIGNED = "grader/attempt/v1", "grader/result/v1", "grader/signed/v1"


@dataclass(frozen=True)
class Context:
    """The course that attempts must be of, and the keys that sign them.

    `trusted` are public keys by their fingerprint. `timed` says of each exercise of the course
    whether its speed is graded.
    """

    course: str
    version: str
    timed: Mapping[str, bool]
    trusted: Mapping[str, Ed25519PublicKey]
    now: datetime


def context_of(root: Path, keys: Sequence[Path], now: datetime) -> Context:
    """Read the course in `root` and the public keys in the files `keys`. Raises UsageError."""
    own = settings.read(root)
    public = map(signing.public_key, keys)
    return Context(
        course=own.name,
        version=own.version,
        timed={one.name: has_step(one.any_spec, "speed") for one in catalog.exercises(root)},
        trusted={signing.fingerprint(key): key for key in public},
        now=now,
    )


class ReadAttempt(NamedTuple):
    """One attempt that counts. Different texts have a different `digest`.

    `file` is set for a bare result. It names no student, so the file's name is the login.
    """

    attempt: Attempt
    digest: str
    signed: bool
    when: str  # handed in: UTC, ISO 8601
    graded: str  # the same; empty where the text is not a time
    file: Path | None = None

    @property
    def id(self) -> str:
        return self.attempt.id


@dataclass(frozen=True)
class Reader:
    """Reads the texts of files in one context; `unsigned` and `bare` allow such attempts."""

    context: Context
    unsigned: bool
    bare: bool = False

    def read(self, file: Path, document: bytes) -> Iterator[ReadAttempt | Unusable]:
        """Yield the attempts of one text of a file, and an Unusable for each that cannot be used.

        Raises Unusable for the text as a whole.
        """
        try:
            signed = Signed.model_validate_json(document)
        except ValidationError as error:
            yield self._unsigned(file, document, error)
        else:
            yield from self._signed(signed)

    def _signed(self, signed: Signed) -> Iterator[ReadAttempt | Unusable]:
        if not self.context.trusted:
            raise Unusable(
                "it is signed: name the public key that its signature must match (--trust)"
            )
        try:
            lines = signing.lines(signed, self.context.trusted)
        except signing.NotGenuine as error:
            raise Unusable(str(error)) from None
        for number, line in enumerate(lines, 1):
            # Ed25519 signs one text with one key in one way: the signature tells contents apart.
            digest = f"{signed.signature} {number}"
            try:
                yield self._accepted(_attempt(line), digest, signed=True)
            except Unusable as error:
                yield Unusable(f"attempt {number} of this run: {error}")

    def _unsigned(self, file: Path, document: bytes, not_signed: ValidationError) -> ReadAttempt:
        schema = schema_of(document)
        if schema == SIGNED:
            raise _malformed(schema, not_signed)
        if schema not in (ATTEMPT, RESULT):
            raise Unusable(
                f"it is a {quoted(schema)}, and what is read here is grader/result, attempt and "
                "signed/v1"
            )
        if not self.unsigned:
            raise Unusable("it is not signed, and only what is signed counts here")
        digest = hashlib.sha256(document.strip()).hexdigest()
        if schema == ATTEMPT:
            return self._accepted(_attempt(document), digest, signed=False)
        if not self.bare:
            raise Unusable("it is a bare result, which says nothing of whose it is")
        attempt = _of_result(document, file.stem, self.context.course)
        return self._accepted(attempt, digest, signed=False, file=file)

    def _accepted(
        self, attempt: Attempt, digest: str, *, signed: bool, file: Path | None = None
    ) -> ReadAttempt:
        _require_course(attempt, self.context)
        _require_student(attempt)
        _require_names(attempt)
        _require_possible(attempt.result)
        when = _when(attempt.submitted_at, self.context.now)
        graded = time_key(attempt.result.started_at)
        return ReadAttempt(attempt, digest, signed, when, graded, file)


def _malformed(schema: str, error: ValidationError) -> Unusable:
    return Unusable(f"it is no whole {schema}: {quoted(first_error(error), LONGEST_FAULT)}")


def _attempt(document: bytes) -> Attempt:
    try:
        return Attempt.model_validate_json(document)
    except ValidationError as error:
        raise _malformed(ATTEMPT, error) from None


def _of_result(document: bytes, student: str, course: str) -> Attempt:
    try:
        login = student.encode()
    except UnicodeEncodeError:
        raise Unusable(
            "it is a bare result, whose student is the name of its file, and that is not in UTF-8: "
            "rename the file"
        ) from None
    try:
        result = parse_result(document)
    except ValidationError as error:
        raise _malformed(RESULT, error) from None
    return Attempt(
        # The same file makes the same id each time.
        id=hashlib.sha256(document.strip() + login).hexdigest()[:32],
        course=course,
        version="",
        student=student,
        submitted_at=result.started_at,
        result=result,
    )


def _require_course(attempt: Attempt, context: Context) -> None:
    if attempt.course != context.course:
        raise Unusable(f"it is of another course: {quoted(attempt.course)}")
    if attempt.result.exercise not in context.timed:
        raise Unusable(
            f"the course has no exercise {quoted(attempt.result.exercise)}, which it is of"
        )


def _require_student(attempt: Attempt) -> None:
    if not attempt.student.strip():
        raise Unusable("it names no student")
    if (length := len(attempt.student)) > LONGEST_NAME:
        raise Unusable(
            f"its student's name has {length:,} characters, and {LONGEST_NAME} are the most"
        )


def _require_names(attempt: Attempt) -> None:
    if not re.fullmatch(r"[0-9a-f]{32}", attempt.id):
        raise Unusable(f"its id is {quoted(attempt.id)}, and 32 hexadecimal digits are needed")
    if not re.fullmatch(r"[0-9a-f]{64}", attempt.result.kernel.sha256):
        raise Unusable("it names its kernel by no SHA-256 of 64 hexadecimal digits")


def _require_possible(result: Result) -> None:
    if not 0 <= result.points <= result.max_points <= MOST_POINTS:
        raise Unusable(
            f"its figures contradict each other: {result.points:,} of {result.max_points:,} points"
        )
    for step in result.steps:
        if step.speed is not None:
            kind, sizes = step.failure.kind if step.failure else "", step.speed.sizes
            for speed in (step.speed, *sizes):
                _require_possible_speed(speed, kind)
            shares = [one.share for one in sizes]
            if shares and not min(shares) <= step.speed.share <= max(shares):
                raise Unusable("its figures contradict each other: no mean of its sizes' shares")


def _require_possible_speed(speed: Speed, failure: str) -> None:
    for name, most in BOUNDS.items():
        if not 0 < (value := getattr(speed, name)) <= most:
            raise Unusable(f"its figures are impossible: {name} is {value:.3g}")
    # A wrong or impossible result may have any interval: no board shows it.
    if is_impossible(speed) or failure not in ("", "too_slow", "noisy"):
        return
    if not speed.share_low <= speed.share <= speed.share_high:
        raise Unusable("its figures contradict each other: the share lies outside its interval")
    if speed.share_high > LARGEST_SHARE:
        raise Unusable(
            f"its figures are impossible: an interval that ends at {speed.share_high:.3g} times "
            "the ceiling"
        )


def _when(text: str, now: datetime) -> str:
    try:
        time = utc(text)
    except ValueError:
        raise Unusable(f"it was handed in at {quoted(text)}, which is no time") from None
    if is_future(time, now):
        raise Unusable(
            f"it was handed in at {quoted(text)}, which is in the future: a clock is wrong, and "
            "the attempt counts from that time on"
        )
    return stamp(time)


class _Dated(Protocol):
    """The fields of an attempt that decide which of two counts, and which came first."""

    @property
    def id(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def when(self) -> str: ...
    @property
    def graded(self) -> str: ...


Dated = TypeVar("Dated", bound=_Dated)


def each_once(placed: Sequence[tuple[str, Dated]]) -> tuple[list[Dated], list[Problem]]:
    """Return the attempts that count, oldest first, whatever the order of the files.

    Attempts that were handed in at the same time, such as a commit that is graded again, are in the
    order of their grading. If several have one id, a signed one counts, otherwise the oldest.
    """
    by_id: dict[str, tuple[str, Dated]] = {}
    problems: list[Problem] = []
    for place, attempt in sorted(placed, key=lambda one: _precedence(one[1])):
        where, counts = by_id.setdefault(attempt.id, (place, attempt))
        if counts is attempt:
            continue
        if counts.digest == attempt.digest:
            reason = f"it is the same attempt as in {where}, and counted once"
        else:
            reason = f"a replay: it has the id of the attempt in {where}, and another text"
        problems.append(Problem(place, reason))
    attempts = (attempt for _, attempt in by_id.values())
    return sorted(attempts, key=attrgetter("when", "graded", "id")), problems


def _precedence(attempt: _Dated) -> tuple[bool, str, str]:
    return not attempt.signed, attempt.when, attempt.digest
