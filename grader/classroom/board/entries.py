"""One attempt as a board shows it: compact, because memory holds those of a whole class."""

from __future__ import annotations

from typing import NamedTuple

from grader.classroom.attempts import Context, ReadAttempt
from grader.classroom.board.records import State
from grader.classroom.board.worth import measured, trusted, worth
from grader.model import Result, Status, login_of

# The states with figures to show: those of a wrong or impossible kernel mean nothing.
WITH_FIGURES = (State.RANKED, State.UNVERIFIED, State.NOISY)


class Figures(NamedTuple):
    """The speed step's measurement, or the claim of an untrusted file."""

    gpu: str
    share: float
    share_low: float
    share_high: float
    bandwidth_gbps: float
    ceiling_gbps: float
    time_ms: float


class Entry(NamedTuple):
    """One attempt. Different texts have a different `digest`; `state` ignores a teacher's decision.

    `student` is the login, and is never published.
    """

    id: str
    digest: str
    student: str
    exercise: str
    when: str  # handed in: UTC, ISO 8601
    graded: str  # the same; empty where the text is not a time
    signed: bool
    trusted: bool  # signed, and made in hardened mode
    state: State
    note: str
    passed: bool
    points: int
    max_points: int
    kernel: str  # SHA-256 of the kernel file
    figures: Figures | None  # for RANKED, UNVERIFIED and NOISY


def entry(read: ReadAttempt, context: Context) -> Entry:
    attempt, result = read.attempt, read.attempt.result
    timed = context.timed[result.exercise]
    state, note = worth(read, timed=timed, version=context.version)
    return Entry(
        id=attempt.id,
        digest=read.digest,
        student=login_of(attempt.student),
        exercise=result.exercise,
        when=read.when,
        graded=read.graded,
        signed=read.signed,
        trusted=trusted(read),
        state=state,
        note=note,
        passed=result.status is Status.PASS,
        points=result.points,
        max_points=result.max_points,
        kernel=result.kernel.sha256,
        figures=_figures(result) if state in WITH_FIGURES else None,
    )


def _figures(result: Result) -> Figures | None:
    speed = measured(result)
    if speed is None:
        return None
    return Figures(
        gpu=result.environment.device,
        share=speed.share,
        share_low=speed.share_low,
        share_high=speed.share_high,
        bandwidth_gbps=speed.bandwidth_gbps,
        ceiling_gbps=speed.ceiling_gbps,
        time_ms=speed.time_ms,
    )
