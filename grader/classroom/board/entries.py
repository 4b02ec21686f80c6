"""One attempt as a board needs it, read from a document that anybody may have written.

Only the fields that a board uses are read, so that the attempts of a term are read in seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple, NotRequired

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

from grader.classroom import signing
from grader.classroom.board.records import State
from grader.classroom.documents import Unusable, schema_of
from grader.model import (
    Outcome,
    Record,
    Signed,
    Status,
    first_fault,
    login_of,
    percent,
    quoted,
    results,
    sortable,
    stamp,
    to_come,
    utc,
)
from grader.speed import IMPOSSIBLE

LONGEST_NAME = 200  # characters of a login
MOST_POINTS = 10**6  # what one result may claim
LARGEST_FIGURE = 1e9  # of milliseconds and of 1e9 bytes per second
LARGEST_SHARE = 10.0  # of the ceiling: no interval of a kernel that is possible reaches so far
# The states whose figures are shown: of what is wrong or impossible they mean nothing.
TELLING = (State.RANKED, State.UNVERIFIED, State.NOISY)
MAY_SKIP = ("traffic", "counts")  # by kernels that no simulator knows
ENDED = (Status.PASS, Status.FAIL, Status.CANNOT_GRADE)  # what a check that was finished says
# Each under a name of its own, as they are compared a million times: until Python 3.12 it takes
# longer to look a member up in its enum than to compare with it.
PASS, SKIP, NOISY = Outcome.PASS, Outcome.SKIP, Outcome.NOISY


@dataclass(frozen=True)
class Context:
    """What attempts are held against. `trusted` are raw public keys by their fingerprint.

    `timed` says of each exercise of the course whether its speed is graded.
    """

    course: str
    version: str
    timed: Mapping[str, bool]
    trusted: Mapping[str, bytes]
    now: datetime


class Figures(NamedTuple):
    """What the speed step measured, or what an untrusted file says that it did."""

    gpu: str
    share: float
    share_low: float
    share_high: float
    bandwidth_gbps: float
    ceiling_gbps: float
    time_ms: float


class Entry(NamedTuple):
    """One attempt. `digest` tells its text from another's, `state` is as if nobody decided.

    `student` is the login, and is never published.
    """

    id: str
    digest: str
    student: str
    exercise: str
    when: str  # handed in: UTC, ISO 8601
    graded: str  # the same; empty for what is no time
    signed: bool
    trusted: bool  # signed, and made in hardened mode
    state: State
    note: str
    passed: bool
    points: int
    max_points: int
    kernel: str  # SHA-256 of the kernel file
    figures: Figures | None  # for RANKED, UNVERIFIED and NOISY


# What is read of an attempt: dictionaries, which are made in two thirds of the time of records. The
# configuration of the whole, below, holds for its parts.

_Share = Annotated[float, Field(gt=0)]
_Measured = Annotated[float, Field(gt=0, le=LARGEST_FIGURE)]
_Gate = Annotated[float, Field(gt=0, le=LARGEST_SHARE)]
_Points = Annotated[int, Field(ge=0, le=MOST_POINTS)]


class _Failure(TypedDict):
    kind: str


class _Speed(TypedDict):
    time_ms: _Measured
    bandwidth_gbps: _Measured
    ceiling_gbps: _Measured
    share: _Share
    share_low: _Share
    share_high: _Share
    passing: _Gate


class _Step(TypedDict):
    name: results.StepName
    outcome: Outcome
    failure: NotRequired[_Failure | None]
    speed: NotRequired[_Speed | None]


class _Sanitized(TypedDict):
    outcome: Outcome


class _Kernel(TypedDict):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Environment(TypedDict):
    device: str
    simulated: bool


class _Result(TypedDict):
    schema: Literal["grader/result/v1"]
    exercise: str
    status: Status
    points: _Points
    max_points: _Points
    kernel: _Kernel
    environment: _Environment
    started_at: str
    steps: tuple[_Step, ...]
    sanitized: NotRequired[tuple[_Sanitized, ...]]
    hardened: NotRequired[bool]


@with_config(Record.model_config)
class _Attempt(TypedDict):
    schema: Literal["grader/attempt/v1"]
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    course: str
    version: str
    student: str
    submitted_at: str
    result: _Result


_attempts = TypeAdapter(_Attempt)


class Reader:
    """Reads documents in one context; holds the keys in the form that checks signatures."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._keys = {
            name: Ed25519PublicKey.from_public_bytes(raw) for name, raw in context.trusted.items()
        }

    def entries(self, document: bytes) -> Iterator[Entry | Unusable]:
        """Raises Unusable, and gives one for each attempt of a signed run that cannot be used."""
        try:
            signed = Signed.model_validate_json(document)
        except ValidationError as error:
            yield self._unsigned(document, error)
            return
        try:
            texts = signing.lines(signed, self._keys)
        except signing.NotGenuine as error:
            raise Unusable(str(error)) from None
        for number, text in enumerate(texts, 1):
            # Ed25519 signs one text with one key in one way: the signature tells contents apart.
            digest = f"{signed.signature} {number}"
            try:
                yield _entry(_attempt(text), digest, self.context, signed=True)
            except Unusable as error:
                yield Unusable(f"attempt {number} of this run: {error}")

    def _unsigned(self, document: bytes, no_signed: ValidationError) -> Entry:
        schema = schema_of(document)
        if schema == "grader/signed/v1":
            raise Unusable(
                f"it is no whole grader/signed/v1: {quoted(first_fault(no_signed), 120)}"
            )
        if schema == "grader/result/v1":
            raise Unusable("it is a bare result, which says nothing of whose it is")
        if schema != "grader/attempt/v1":
            raise Unusable(
                f"it is a {quoted(schema)}, and what is read here is grader/signed/v1 and "
                "grader/attempt/v1"
            )
        digest = hashlib.sha256(document.strip()).hexdigest()
        return _entry(_attempt(document), digest, self.context, signed=False)


def _attempt(document: bytes) -> _Attempt:
    try:
        return _attempts.validate_json(document)
    except ValidationError as error:
        raise Unusable(
            f"it is no whole grader/attempt/v1: {quoted(first_fault(error), 120)}"
        ) from None


def _entry(attempt: _Attempt, digest: str, context: Context, *, signed: bool) -> Entry:
    result = attempt["result"]
    _must_be_of(context, attempt)
    trusted = signed and result.get("hardened", False)
    step = next((step for step in result["steps"] if step["name"] == "speed"), None)
    # Of a simulation there is no speed, whatever its file says.
    speed = None if step is None or result["environment"]["simulated"] else step.get("speed")
    timed = context.timed[result["exercise"]]
    state, note = _timed(result, step, speed) if timed else (_untimed(result), "")
    if not trusted:
        state, note = _unverified(state, note)
    if attempt["version"] != context.version:
        note = _noted(note, "graded with another version of the course")
    return Entry(
        id=attempt["id"],
        digest=digest,
        student=login_of(attempt["student"]),
        exercise=result["exercise"],
        when=_when(attempt["submitted_at"], context.now),
        graded=sortable(result["started_at"]),
        signed=signed,
        trusted=trusted,
        state=state,
        note=note,
        passed=result["status"] is Status.PASS,
        points=result["points"],
        max_points=result["max_points"],
        kernel=result["kernel"]["sha256"],
        figures=_figures(result["environment"]["device"], speed) if state in TELLING else None,
    )


def _figures(gpu: str, speed: _Speed | None) -> Figures:
    """Raises Unusable where they contradict each other, and where they cannot be."""
    assert speed is not None
    if not speed["share_low"] <= speed["share"] <= speed["share_high"]:
        raise Unusable("its figures contradict each other: the share lies outside its interval")
    if speed["share_high"] > LARGEST_SHARE:
        raise Unusable(
            f"its figures are impossible: an interval that ends at {speed['share_high']:.3g} times "
            "the ceiling"
        )
    return Figures(
        gpu=gpu,
        share=speed["share"],
        share_low=speed["share_low"],
        share_high=speed["share_high"],
        bandwidth_gbps=speed["bandwidth_gbps"],
        ceiling_gbps=speed["ceiling_gbps"],
        time_ms=speed["time_ms"],
    )


def _must_be_of(context: Context, attempt: _Attempt) -> None:
    """Raises Unusable for an attempt of another course, of nobody, or that contradicts itself."""
    if attempt["course"] != context.course:
        raise Unusable(f"it is of another course: {quoted(attempt['course'])}")
    if attempt["result"]["exercise"] not in context.timed:
        raise Unusable(
            f"the course has no exercise {quoted(attempt['result']['exercise'])}, which it is of"
        )
    if not attempt["student"].strip():
        raise Unusable("it names no student")
    if (length := len(attempt["student"])) > LONGEST_NAME:
        raise Unusable(
            f"its student's name has {length:,} characters, and {LONGEST_NAME} are the most"
        )
    if attempt["result"]["points"] > attempt["result"]["max_points"]:
        raise Unusable("its figures contradict each other: more points than there are")


def _when(text: str, now: datetime) -> str:
    """Raises Unusable for a time that is none, and for one that is yet to come."""
    try:
        time = utc(text)
    except ValueError:
        raise Unusable(f"it was handed in at {quoted(text)}, which is no time") from None
    if to_come(time, now):
        raise Unusable(
            f"it was handed in at {quoted(text)}, which is yet to come: a clock is wrong, and "
            "a board that is built after that time has it"
        )
    return stamp(time)


# What an attempt is worth, and in a few words why it does not rank or did not pass.


def _untimed(result: _Result) -> State:
    """Of a puzzle."""
    return State.SOLVED if result["status"] is Status.PASS and _sound(result) else State.FAILED


def _timed(result: _Result, step: _Step | None, speed: _Speed | None) -> tuple[State, str]:
    """Of an exercise whose speed is graded, if a trusted run made it; `step` is that of speed."""
    if step is None or not _sound(result):
        return State.FAILED, ""
    failure = step.get("failure")
    kind = None if failure is None else failure["kind"]
    if kind == "impossible" or (speed is not None and speed["share"] > IMPOSSIBLE):
        return State.IMPOSSIBLE, "faster than this GPU's memory can deliver what the task needs"
    if step["outcome"] is NOISY and speed is not None:
        return State.NOISY, "something disturbed the measurement, which counts for nothing"
    if step["outcome"] is SKIP or (step["outcome"] is PASS and speed is None):
        return State.NOT_TIMED, "right, and not timed on a GPU"
    if speed is not None and step["outcome"] is PASS:
        return State.RANKED, ""
    if speed is not None and kind == "too_slow":
        return State.RANKED, _below(speed["passing"])
    return State.FAILED, ""


def _unverified(state: State, note: str) -> tuple[State, str]:
    """Of a state and its note what is left where no trusted run made the attempt."""
    if state not in (State.RANKED, State.SOLVED, State.NOT_TIMED):
        return state, note
    return (
        State.UNVERIFIED if state is State.RANKED else state,
        _noted("no trusted run made it", note),
    )


def _sound(result: _Result) -> bool:
    """Whether all but its speed was found right, by a check that came to its end."""
    if result["status"] not in ENDED:
        return False
    correct = False
    for step in result["steps"]:
        if step["name"] == "speed":
            continue
        if step["outcome"] is not PASS and not (
            step["outcome"] is SKIP and step["name"] in MAY_SKIP
        ):
            return False
        correct = correct or step["name"] == "correctness"
    return correct and all(one["outcome"] is PASS for one in result.get("sanitized", ()))


@lru_cache(maxsize=64)  # a course has a few gates
def _below(passing: float) -> str:
    return f"below the {percent(passing)} that pass"


def _noted(*notes: str) -> str:
    return "; ".join(filter(None, notes))
