"""Run one step of a check, with the steps before it taken as passed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from grader.course.exercise import Exercise
from grader.grading import steps
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.model.outcomes import Outcome
from grader.model.results import Step
from grader.sandbox.fork_servers import ForkServers


def one_step(
    name: str, exercise: Exercise, file: Path, fork_servers: ForkServers, **options: object
) -> Step:
    with closing(
        Grading(exercise, file, Options(**{"seed": 1} | options), fork_servers)
    ) as grading:
        order = [step.name for step in grading.order]
        take_as_passed(grading, order[: order.index(name)])
        return run(grading, steps.every()[name])


def take_as_passed(grading: Grading, names: Iterable[str]) -> None:
    """Record steps as passed. No later step begins its work for that, as the compiler would."""
    for name in names:
        grading.steps[name] = Step(
            name=name,
            outcome=Outcome.PASS,
            points=0,
            max_points=0,
            summary="taken as passed",
            duration_s=0.0,
        )
