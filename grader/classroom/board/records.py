"""The contents of a leaderboard, ready to be drawn: no login, no e-mail, no source.

A share is of the ceiling that was measured beside the kernel on the same GPU: rows of different
GPUs can share a table. Figures that a row does not have are None.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class State(StrEnum):
    """The state of a row or an attempt on a board."""

    RANKED = "ranked"  # a share from a trusted run; `note` says if it is below the gate
    SOLVED = "solved"  # right, and speed is not graded: a puzzle
    UNVERIFIED = "unverified"  # right and timed, but no trusted run made it
    NOT_TIMED = (
        "not_timed"  # right, without a GPU, or with a step skipped that no simulator could do
    )
    FAILED = "failed"  # wrong, or not finished
    NOISY = "noisy"  # something on the machine disturbed the measurement
    IMPOSSIBLE = "impossible"  # faster than the bytes allow
    INVALIDATED = "invalidated"  # taken back by a teacher, with a reason
    BASELINE = "baseline"  # torch, the model solution, the limit of the hardware


@dataclass(frozen=True)
class Row:
    """One line of the board of one exercise: a student's best attempt, or a baseline.

    `who` is the pseudonym or nickname, `key` the name of the student's page without its ending
    (None for a baseline). `rank` is 1 + the number of ranked rows whose interval begins higher; it
    is None for a row without a rank. `close` marks a row whose interval reaches that of the ranked
    row above. The figures of an UNVERIFIED row are its file's claim. A baseline that several GPUs
    measured has the median share, no `gpu`, and an interval from the lowest to the highest.
    """

    who: str
    key: str | None
    state: State
    rank: int | None = None
    close: bool = False
    gpu: str = ""
    share: float | None = None
    share_low: float | None = None
    share_high: float | None = None
    bandwidth_gbps: float | None = None
    ceiling_gbps: float | None = None
    time_ms: float | None = None
    attempts: int = 0
    when: str = ""  # UTC, ISO 8601: when it was handed in
    note: str = ""  # why it does not rank, in words


@dataclass(frozen=True)
class Board:
    """The board of one exercise: rows in the order of the table, ranked ones first.

    Rows without a rank follow, then the baselines. `passing` and `great` are shares.
    """

    exercise: str
    title: str
    backend: str
    passing: float
    great: float
    rows: tuple[Row, ...]

    @cached_property
    def gpus(self) -> tuple[str, ...]:
        return tuple(sorted({row.gpu for row in self.rows if row.gpu}))


@dataclass(frozen=True)
class Standing:
    """One line of the overall board: the mean share over all timed exercises.

    An exercise where the student has no rank counts as 0. `rank` is None if the student has no rank
    on any board: the mean is then 0. `close` is as in a Row. `shares` are in the order of
    Site.boards; `solved` counts the exercises and puzzles passed in trusted runs, and `points` adds
    the most that such runs gave for each.
    """

    who: str
    key: str
    rank: int | None
    close: bool
    mean: float
    mean_low: float
    mean_high: float
    shares: tuple[float | None, ...]
    solved: int
    points: int
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class Tried:
    """One attempt in a student's history, oldest first."""

    exercise: str
    when: str
    state: State
    points: int
    max_points: int
    gpu: str = ""
    share: float | None = None
    share_low: float | None = None
    share_high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Student:
    """The page of one student."""

    who: str
    key: str
    tried: tuple[Tried, ...]


@dataclass(frozen=True)
class Tally:
    """The class at one exercise or puzzle: students who handed it in, and who solved it.

    A student has solved it who passed it in a trusted run.
    """

    exercise: str
    title: str
    max_points: int
    tried: int
    solved: int


@dataclass(frozen=True)
class Site:
    """All that the pages of one class show. `tallies` are in the order of the course."""

    course: str
    title: str
    version: str
    made_at: str  # UTC, ISO 8601
    exercises: int  # including puzzles
    tallies: tuple[Tally, ...]
    boards: tuple[Board, ...]
    standings: tuple[Standing, ...]
    students: tuple[Student, ...]
