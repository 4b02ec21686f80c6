"""From the steps of a check to its status, its points and the exit code: pure decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from grader.model.outcomes import Outcome, Status
from grader.model.results import Result, Sanitized, Step

EXIT_CODES = {
    Status.PASS: 0,
    Status.FAIL: 1,
    Status.NOT_STARTED: 1,
    Status.CANNOT_GRADE: 3,
    Status.ERROR: 4,
    Status.UNFINISHED: 4,
    Status.INTERRUPTED: 130,
}

# When a command graded several kernels, the gravest code is the command's: an interruption before
# our own faults, those before the machine's, and those before the learner's.
_GRAVEST_FIRST = (130, 4, 3, 2, 1, 0)


def status_of(
    steps: Sequence[Step],
    needed: Collection[str],
    may_skip: Collection[str],
    sanitized: Sequence[Sanitized] = (),
) -> Status:
    """Decide the status of a check from its steps, and from those of a sanitizer that ran.

    A check passes only when every step that the exercise needs is there and passed. Steps in
    `may_skip` may be skipped instead, such as speed on a machine without a GPU. An error that a
    sanitizer found fails the check, as a wrong output does. A failure is one whatever could not be
    simulated.
    """
    failed = any(step.outcome is Outcome.FAIL for step in steps)
    certain = [step for step in steps if not (failed and not_simulated(step))]
    outcomes = {step.outcome for step in certain} | {one.outcome for one in sanitized}
    for outcome, status in (
        (Outcome.ERROR, Status.ERROR),
        (Outcome.CANNOT_GRADE, Status.CANNOT_GRADE),
        (Outcome.NOISY, Status.CANNOT_GRADE),
        (Outcome.NOT_STARTED, Status.NOT_STARTED),
        (Outcome.FAIL, Status.FAIL),
    ):
        if outcome in outcomes:
            return status
    if {step.name for step in steps} != set(needed):
        return Status.UNFINISHED
    sound = all(one.outcome is Outcome.PASS for one in sanitized)
    if sound and all(_counts_as_passed(step, may_skip) for step in steps):
        return Status.PASS
    return Status.UNFINISHED


def not_simulated(step: Step) -> bool:
    """Report whether no simulator could run a step, which a GPU might."""
    if step.outcome is not Outcome.CANNOT_GRADE or step.failure is None:
        return False
    return step.failure.kind == "not_simulated"


def _counts_as_passed(step: Step, may_skip: Collection[str]) -> bool:
    skipped = step.outcome is Outcome.SKIP and step.name in may_skip
    return skipped or step.outcome is Outcome.PASS


def exit_code(results: Iterable[Result]) -> int:
    # Without any result the grader is broken.
    codes = {EXIT_CODES[result.status] for result in results} or {4}
    return next(code for code in _GRAVEST_FIRST if code in codes)


def begun(result: Result) -> bool:
    """Return whether the learner has begun the exercise, or one of its entries."""
    statuses = [one.status for one in result.entries] or [result.status]
    return any(status is not Status.NOT_STARTED for status in statuses)


def first_problem(result: Result) -> Step | None:
    """Return the step that says why the check did not pass, or None.

    Of several entries one may fail at a later step than that at which another was not started.
    """
    settled = (Outcome.PASS, Outcome.SKIP)
    problems = [step for step in result.steps if step.outcome not in settled]
    missing = (Outcome.NOT_STARTED, Outcome.NOT_RUN) if result.entries else ()
    problems.sort(key=lambda step: step.outcome in missing)
    return problems[0] if problems else None
