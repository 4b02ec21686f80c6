"""A step of a check as plain data and one function, and the finding that it comes to.

Imports nothing heavy: `grader list` and `grader show` read every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.model import Outcome

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import (
        BaseSpec,
        Compiled,
        Count,
        Failure,
        MeasuredTraffic,
        Memory,
        Speed,
        Traffic,
    )


@dataclass(frozen=True)
class Finding:
    """The result of one step, a pass unless `outcome` says otherwise.

    `earlier_s` are seconds spent for the step before it ran, such as in an exercise's tests.
    """

    summary: str
    failure: Failure | None = None
    outcome: Outcome = Outcome.PASS
    speed: Speed | None = None
    memory: Memory | None = None
    traffic: tuple[Traffic, ...] = ()
    measured: MeasuredTraffic | None = None
    counts: tuple[Count, ...] = ()
    compiled: tuple[Compiled, ...] = ()
    earlier_s: float = 0.0

    def __post_init__(self) -> None:
        if self.failure is not None and self.outcome is Outcome.PASS:
            raise ValueError("a finding with a failure needs an outcome that is not a pass")


def always(spec: BaseSpec) -> bool:
    return True


def nothing(spec: BaseSpec) -> str:
    return ""


def never(spec: BaseSpec) -> bool:
    return False


def no_reason(grading: Grading) -> str:
    return ""


def begin_nothing(grading: Grading) -> None:
    """Begin no work."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a verdict, defined as `STEP` by a file or folder of `grader.grading.steps`.

    `needs` names the steps that must have passed, or been skipped, before this one runs; steps that
    the exercise does not have are ignored. If `may_skip`, a check passes although this step was
    skipped. A kind lists its steps; `kinds` names further kinds that this step joins, directly
    behind the last step that it needs. `applies(spec)` says whether an exercise has the step, and
    `asks(spec)` returns its requirement for `grader show`. `runs_tests` marks a step that judges
    the exercise's own tests: they run directly before it. `unsimulated(spec)` says whether the step
    runs although one of `needs` could not be simulated on this machine. `prepare`, called once the
    check's first step has passed, may start what this step will need. `begin`, called as soon as
    the steps in `needs` have passed, may begin work in parallel to other steps; what goes wrong in
    it is left for `run` to meet again. `slow` says, for somebody who waits, why the step may take
    long. `alone` marks a step that measures: on a GPU, other programs there would disturb it.
    `compares` marks one that judges outputs alone: no step that measures uses its finding.
    `run` may raise KernelFailure, which fails the step, and any GraderError.
    """

    name: str
    title: str
    run: Callable[[Grading], Finding]
    points: int = 0
    needs: tuple[str, ...] = ()
    may_skip: bool = False
    kinds: tuple[str, ...] = ()
    applies: Callable[[Any], bool] = always
    asks: Callable[[Any], str] = nothing
    runs_tests: bool = False
    unsimulated: Callable[[Any], bool] = never
    prepare: Callable[[Grading], None] = begin_nothing
    begin: Callable[[Grading], None] = begin_nothing
    slow: Callable[[Grading], str] = no_reason
    alone: bool = False
    compares: bool = False
