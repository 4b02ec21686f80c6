"""A check on a GPU in two parts: what compares outputs runs beside others, what measures alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from grader.authoring.trials import Trial, exercise_of
from grader.grading import Step, steps_of
from grader.model import EntryResult, Outcome, Result, Status, status_of


def comes_to_be_measured(trial: Trial) -> bool:
    """Report whether a kernel gets as far as a step that needs the GPU to itself."""
    early = itertools.takewhile(lambda step: not step.alone, _steps(trial))
    names = {"not_started", *(step.name for step in early)}
    on_cpu = trial.request.options.device == "cpu"
    return not on_cpu and trial.expected.partition(" of ")[0] not in names


def first_part(trial: Trial) -> Trial:
    """Leave out what is measured; a simulated trial disturbs nobody, and stays whole."""
    simulated = trial.request.options.device == "cpu"
    return trial if simulated else _without(trial, lambda step: step.alone)


def second_part(trial: Trial) -> Trial:
    """Leave out what compares outputs, which takes longest and was done in the first part."""
    return _without(trial, lambda step: step.compares)


def has_no_fault(result: Result) -> bool:
    return all(step.outcome in (Outcome.PASS, Outcome.SKIP) for step in result.steps)


def of_part(trial: Trial, result: Result) -> Result:
    """Return a failure for a file of which one entry failed: steps of the others were left out."""
    failed = any(entry.status is Status.FAIL for entry in result.entries)
    if failed and trial.request.options.leave_out and result.status is Status.UNFINISHED:
        return result.model_copy(update={"status": Status.FAIL})
    return result


def joined(trial: Trial, first: Result, second: Result) -> Result:
    """Return the second part's result with the steps, points and seconds of the first."""
    pairs = zip(first.entries, second.entries, strict=True)
    entries = tuple(late.model_copy(update=_of_both(trial, early, late)) for early, late in pairs)
    seconds = round(first.duration_s + second.duration_s, 3)
    update = _of_both(trial, first, second) | {"entries": entries, "duration_s": seconds}
    return second.model_copy(update=update)


def _of_both(
    trial: Trial, first: Result | EntryResult, second: Result | EntryResult
) -> dict[str, object]:
    passed = {step.name: step for step in first.steps if step.outcome is Outcome.PASS}
    steps = tuple(
        passed.get(step.name, step) if step.outcome is Outcome.SKIP else step
        for step in second.steps
    )
    status = second.status
    if status is Status.UNFINISHED:  # a step was skipped, which may be the first part's
        every = _steps(trial)
        skippable = {step.name for step in every if step.may_skip}
        status = status_of(steps, [step.name for step in every], skippable, ())
    return {"steps": steps, "points": sum(step.points for step in steps), "status": status}


def _steps(trial: Trial) -> tuple[Step, ...]:
    return steps_of(exercise_of(trial).any_spec)


def _without(trial: Trial, which: Callable[[Step], bool]) -> Trial:
    names = tuple(step.name for step in _steps(trial) if which(step))
    options = replace(trial.request.options, leave_out=names)
    return replace(trial, request=replace(trial.request, options=options))
