"""The steps that a step builds on: whether it may run, from what the others came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.grading import steps
from grader.grading.step import Step
from grader.model import BaseSpec, Outcome, verdict
from grader.model import Step as StepResult

SETTLED = (Outcome.PASS, Outcome.SKIP)  # of a step on which others can build


def unmet(
    step: Step, order: Sequence[Step], done: Mapping[str, StepResult], spec: BaseSpec
) -> str | None:
    """Return the first step that did not pass of those that this one needs, directly or not."""
    needed = all_of(step)
    for other in order:
        if other.name in needed and not _is_met(step, done.get(other.name), spec):
            return other.name
    return None


def reason(needed: str) -> str:
    """Return the summary of a step that was not run, for want of one that it needs."""
    return f"not run: needs {needed}"


def _is_met(step: Step, done: StepResult | None, spec: BaseSpec) -> bool:
    if done is None or done.outcome in SETTLED:
        return done is not None
    return verdict.not_simulated(done) and step.unsimulated(spec)


def all_of(step: Step) -> set[str]:
    """Return the names of all steps that one needs, directly or not."""
    known, needs, waiting = steps.every(), set[str](), list(step.needs)
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs.add(name)
            waiting += known[name].needs
    return needs
