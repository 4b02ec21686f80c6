"""The state of an attempt on a board, and a note why it has no rank or did not pass."""

from __future__ import annotations

from functools import lru_cache

from grader.classroom.attempts import ReadAttempt
from grader.classroom.board.records import State
from grader.grading import skippable_steps
from grader.model import Outcome, Result, Speed, Status, Step, percent
from grader.speed import is_impossible

ENDED = (Status.PASS, Status.FAIL, Status.CANNOT_GRADE)  # of a check that ran to its end
# Global names, because they are compared a million times: before Python 3.12, looking a member up
# in its enum takes longer than the comparison.
PASS, SKIP, NOISY = Outcome.PASS, Outcome.SKIP, Outcome.NOISY


def worth(read: ReadAttempt, *, timed: bool, version: str) -> tuple[State, str]:
    """Return the state of an attempt before any teacher's decision, and a note.

    `timed` says whether the exercise's speed is graded, `version` is that of the course.
    """
    result = read.attempt.result
    state, note = _timed(result) if timed else (_untimed(result), "")
    if not trusted(read):
        state, note = _unverified(state, note)
    if read.attempt.version != version:
        note = _noted(note, "graded with another version of the course")
    return state, note


def trusted(read: ReadAttempt) -> bool:
    return read.signed and read.attempt.result.hardened


def speed_step(result: Result) -> Step | None:
    return next((step for step in result.steps if step.name == "speed"), None)


def measured(result: Result) -> Speed | None:
    step = speed_step(result)
    # A simulation has no speed, whatever its file says.
    return None if step is None or result.environment.simulated else step.speed


def _untimed(result: Result) -> State:
    passed = any(step.outcome is PASS for step in result.steps)
    solved = passed and result.status is Status.PASS and _sound(result)
    return State.SOLVED if solved else State.FAILED


def _timed(result: Result) -> tuple[State, str]:
    step, speed = speed_step(result), measured(result)
    correct = any(one.name == "correctness" for one in result.steps)
    if step is None or not correct or not _sound(result):
        return State.FAILED, ""
    kind = None if step.failure is None else step.failure.kind
    if kind == "impossible" or (speed is not None and is_impossible(speed)):
        return State.IMPOSSIBLE, "faster than this GPU's memory can deliver what the task needs"
    if step.outcome is NOISY and speed is not None:
        return State.NOISY, "something disturbed the measurement, which counts for nothing"
    if step.outcome is SKIP or (step.outcome is PASS and speed is None):
        return State.NOT_TIMED, "right, and not timed on a GPU"
    below = speed is not None and kind == "too_slow"
    if speed is not None and (below or step.outcome is PASS):
        skipped = next((one for one in result.steps if one.outcome is SKIP), None)
        if skipped is not None:  # nobody knows whether it did what the exercise asks for
            return State.NOT_TIMED, f"right, and without a rank: {skipped.name} was skipped"
        if below and speed.sizes:  # the mean may be above the mean of the gates
            return State.RANKED, "below the gate of one of its sizes"
        return State.RANKED, _below(speed.passing) if below else ""
    return State.FAILED, ""


def _unverified(state: State, note: str) -> tuple[State, str]:
    if state not in (State.RANKED, State.SOLVED, State.NOT_TIMED):
        return state, note
    return (
        State.UNVERIFIED if state is State.RANKED else state,
        _noted("no trusted run made it", note),
    )


def _sound(result: Result) -> bool:
    # All steps but speed passed, in a check that ran to its end.
    if result.status not in ENDED:
        return False
    may_skip = _skippable()
    for step in result.steps:
        skipped = step.outcome is SKIP and step.name in may_skip
        if step.name != "speed" and step.outcome is not PASS and not skipped:
            return False
    return all(one.outcome is PASS for one in result.sanitized)


@lru_cache(maxsize=1)  # of this process, which has read its course before
def _skippable() -> frozenset[str]:
    return skippable_steps()


@lru_cache(maxsize=64)  # a course has a few gates
def _below(passing: float) -> str:
    return f"below the {percent(passing)} that pass"


def _noted(*notes: str) -> str:
    return "; ".join(filter(None, notes))
