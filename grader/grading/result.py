"""The record of a check, from the steps that were run."""

from __future__ import annotations

import hashlib
import time

from grader.grading.session import Grading
from grader.model import Kernel, Result, Sanitized, Status, status_of


def result_of(
    grading: Grading, interrupted: bool = False, sanitized: tuple[Sanitized, ...] = ()
) -> Result:
    """Build the result. Steps that never ran leave it unfinished, never passed."""
    order, options = grading.order, grading.options
    steps = tuple(grading.steps[step.name] for step in order if step.name in grading.steps)
    skippable = {step.name for step in order if step.may_skip}
    status = status_of(steps, [step.name for step in order], skippable, sanitized)
    message = ""
    if options.case is not None:
        message = f"only the case {options.case} was graded, which earns no points"
    return Result(
        schema="grader/result/v1",
        exercise=grading.exercise.name,
        title=grading.exercise.any_spec.title,
        status=Status.INTERRUPTED if interrupted else status,
        points=sum(step.points for step in steps),
        max_points=sum(grading.points.values()),
        message=message,
        kernel=Kernel(
            path=grading.shown_path,
            sha256=hashlib.sha256(grading.kernel).hexdigest(),
            backend=grading.exercise.backend or None,
        ),
        environment=grading.workers.environment,
        seed=options.seed,
        started_at=grading.started_at.isoformat(timespec="seconds"),
        duration_s=round(time.monotonic() - grading.began, 3),
        steps=steps,
        sanitized=sanitized,
        walls=grading.workers.walls,
        hardened=options.hardened,
        output=grading.workers.printed,
    )
