"""Facts about an attempt that all formats share: whether it was graded, why it did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.model import Attempt, Result, Status, Step, first_problem, texts

# They say nothing about the learner's work: no format may turn them into points.
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
    """Return whether the result says something about the learner's work."""
    return result.status not in FAULTS


def earned(result: Result) -> int:
    """Return the points: at most the possible ones, and none if nothing was graded."""
    return min(max(result.points, 0), most(result)) if graded(result) else 0


def most(result: Result) -> int:
    return max(result.max_points, 0)


def points_of(
    attempts: Iterable[Attempt],
) -> tuple[dict[str, dict[str, int | None]], dict[str, int]]:
    """Return each student's points by exercise, and the most points of each exercise.

    Points are None where the student's attempts at it could not be graded; of several graded
    attempts the last one counts.
    """
    points: dict[str, dict[str, int | None]] = {}
    best: dict[str, int] = {}
    for attempt in attempts:
        mine, result = points.setdefault(attempt.student, {}), attempt.result
        best[result.exercise] = max(best.get(result.exercise, 0), most(result))
        if graded(result):
            mine[result.exercise] = earned(result)
        else:
            mine.setdefault(result.exercise, None)
    return points, best


def reason(result: Result) -> str:
    """Return one line that says why it did not pass; empty for a pass without a message."""
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
    """Return the line of the kernel file at fault, if it is known."""
    problem = first_problem(result)
    frames = problem.failure.frames if problem and problem.failure else ()
    return frames[-1].line if frames and frames[-1].line > 0 else None


def speed(result: Result) -> Step | None:
    """Return the speed step, if it was measured and the check passed."""
    if result.status is not Status.PASS:
        return None
    measured = (s for s in result.steps if s.name == "speed" and s.speed is not None)
    return next(measured, None)


def total(attempts: Sequence[Attempt]) -> tuple[int, int]:
    results = [attempt.result for attempt in attempts]
    return sum(map(earned, results)), sum(map(most, results))


def sum_of(attempts: Sequence[Attempt]) -> str:
    """Write `17 of 20 points`, with the number of exercises that were not graded."""
    points, most = total([attempt for attempt in attempts if graded(attempt.result)])
    missing = len(ungraded(attempts))
    return f"{points} of {most} points" + (f", {missing} not graded" if missing else "")


def not_started(attempts: Sequence[Attempt]) -> int:
    return sum(attempt.result.status is Status.NOT_STARTED for attempt in attempts)


def sum_or_none(points: Iterable[int | None]) -> int | None:
    """Return the sum, or None if one of them is None: an ungraded exercise does not count as 0."""
    known = list(points)
    return None if None in known else sum(filter(None, known))


def ungraded(attempts: Sequence[Attempt]) -> list[str]:
    names = [a.result.exercise for a in attempts if not graded(a.result)]
    return [texts.one_line(name, 80) for name in names]
