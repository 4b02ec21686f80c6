"""What an attempt is worth on a board, and in a few words why it does not rank or did not pass."""

from __future__ import annotations

from functools import lru_cache

from grader.classroom.attempts import Found
from grader.classroom.board.records import State
from grader.model import Outcome, Result, Speed, Status, Step, percent
from grader.speed import IMPOSSIBLE

MAY_SKIP = ("traffic", "counts")  # by kernels that no simulator knows
ENDED = (Status.PASS, Status.FAIL, Status.CANNOT_GRADE)  # what a check that was finished says
# Each under a name of its own, as they are compared a million times: until Python 3.12 it takes
# longer to look a member up in its enum than to compare with it.
PASS, SKIP, NOISY = Outcome.PASS, Outcome.SKIP, Outcome.NOISY


def worth(found: Found, *, timed: bool, version: str) -> tuple[State, str]:
    """Return the state of an attempt as if no teacher decided, and a note.

    `timed` says whether the exercise's speed is graded, `version` is that of the course.
    """
    result = found.attempt.result
    state, note = _timed(result) if timed else (_untimed(result), "")
    if not trusted(found):
        state, note = _unverified(state, note)
    if found.attempt.version != version:
        note = _noted(note, "graded with another version of the course")
    return state, note


def trusted(found: Found) -> bool:
    """Whether a trusted run made the attempt: it is signed, and its walls had to hold."""
    return found.signed and found.attempt.result.hardened


def speed_step(result: Result) -> Step | None:
    return next((step for step in result.steps if step.name == "speed"), None)


def measured(result: Result) -> Speed | None:
    """What the speed step measured on a GPU; a simulation has no speed, whatever its file says."""
    step = speed_step(result)
    return None if step is None or result.environment.simulated else step.speed


def _untimed(result: Result) -> State:
    return State.SOLVED if result.status is Status.PASS and _sound(result) else State.FAILED


def _timed(result: Result) -> tuple[State, str]:
    step, speed = speed_step(result), measured(result)
    if step is None or not _sound(result):
        return State.FAILED, ""
    kind = None if step.failure is None else step.failure.kind
    if kind == "impossible" or (speed is not None and speed.share > IMPOSSIBLE):
        return State.IMPOSSIBLE, "faster than this GPU's memory can deliver what the task needs"
    if step.outcome is NOISY and speed is not None:
        return State.NOISY, "something disturbed the measurement, which counts for nothing"
    if step.outcome is SKIP or (step.outcome is PASS and speed is None):
        return State.NOT_TIMED, "right, and not timed on a GPU"
    if speed is not None and step.outcome is PASS:
        return State.RANKED, ""
    if speed is not None and kind == "too_slow":
        return State.RANKED, _below(speed.passing)
    return State.FAILED, ""


def _unverified(state: State, note: str) -> tuple[State, str]:
    """Return what is left of a state and its note where no trusted run made the attempt."""
    if state not in (State.RANKED, State.SOLVED, State.NOT_TIMED):
        return state, note
    return (
        State.UNVERIFIED if state is State.RANKED else state,
        _noted("no trusted run made it", note),
    )


def _sound(result: Result) -> bool:
    """Whether all but its speed was found right, by a check that came to its end."""
    if result.status not in ENDED:
        return False
    correct = False
    for step in result.steps:
        if step.name == "speed":
            continue
        if step.outcome is not PASS and not (step.outcome is SKIP and step.name in MAY_SKIP):
            return False
        correct = correct or step.name == "correctness"
    return correct and all(one.outcome is PASS for one in result.sanitized)


@lru_cache(maxsize=64)  # a course has a few gates
def _below(passing: float) -> str:
    return f"below the {percent(passing)} that pass"


def _noted(*notes: str) -> str:
    return "; ".join(filter(None, notes))
