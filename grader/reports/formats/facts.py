"""What all formats say alike of an attempt: whether it was graded, and why it did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.model import Attempt, Result, Status, Step, first_problem, texts

# What says nothing about the learner's work, so that no format may make points of it.
FAULTS = (Status.CANNOT_GRADE, Status.ERROR, Status.UNFINISHED, Status.INTERRUPTED)
NOT_YOURS = "could not be graded, which is not your kernel's fault"
WORDS = {
    Status.PASS: "passed",
    Status.FAIL: "failed",
    Status.NOT_STARTED: "not started",
    Status.CANNOT_GRADE: "not graded: this machine cannot",
    Status.ERROR: "not graded: a fault of the grader or the exercise",
    Status.UNFINISHED: "not graded: not finished",
    Status.INTERRUPTED: "not graded: interrupted",
}


def graded(result: Result) -> bool:
    """Whether the result says something about the learner's work."""
    return result.status not in FAULTS


def earned(result: Result) -> int:
    """The points, never more than there are and none where nothing was graded."""
    return min(max(result.points, 0), most(result)) if graded(result) else 0


def most(result: Result) -> int:
    """The points that could be earned."""
    return max(result.max_points, 0)


def reason(result: Result) -> str:
    """Why it did not pass, on one line; empty for a pass that has nothing to say."""
    problem = first_problem(result)
    if problem is not None and problem.failure is not None:
        case = f"{problem.failure.case}: " if problem.failure.case else ""
        text = f"{problem.name}: {case}{problem.failure.message}"
    elif problem is not None:
        text = f"{problem.name}: {problem.summary}"
    else:
        errors = [error.message for one in result.sanitized for error in one.errors]
        text = " ".join([result.message, *errors])
    return texts.one_line(text)


def line_of(result: Result) -> int | None:
    """The line of the kernel file at which it went wrong, where that is known."""
    problem = first_problem(result)
    frames = problem.failure.frames if problem and problem.failure else ()
    return frames[-1].line if frames and frames[-1].line > 0 else None


def speed(result: Result) -> Step | None:
    """The speed step, where it was measured and the check passed."""
    if result.status is not Status.PASS:
        return None
    found = (s for s in result.steps if s.name == "speed" and s.speed is not None)
    return next(found, None)


def total(attempts: Sequence[Attempt]) -> tuple[int, int]:
    """Points earned, and points that could be."""
    results = [attempt.result for attempt in attempts]
    return sum(map(earned, results)), sum(map(most, results))


def sum_of(attempts: Sequence[Attempt]) -> str:
    """Such as `17 of 20 points`, with how many exercises are not in it."""
    points, most = total([attempt for attempt in attempts if graded(attempt.result)])
    missing = len(ungraded(attempts))
    return f"{points} of {most} points" + (f", {missing} not graded" if missing else "")


def sum_or_none(points: Iterable[int | None]) -> int | None:
    """The sum, or None where one of them is None: what was not graded is no zero."""
    known = list(points)
    return None if None in known else sum(filter(None, known))


def ungraded(attempts: Sequence[Attempt]) -> list[str]:
    """The names of exercises that could not be graded."""
    names = [a.result.exercise for a in attempts if not graded(a.result)]
    return [texts.one_line(name, 80) for name in names]
