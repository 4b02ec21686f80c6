"""The step `speed`: the share that a kernel reaches of what this GPU can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step
from grader.model import Outcome, percent
from grader.speed import find_bound

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec


def speed(grading: Grading) -> Finding:
    if grading.options.device == "cpu":
        reason = "needs a CUDA GPU: this check was simulated on the CPU"
        outcome = Outcome.CANNOT_GRADE if grading.options.require_speed else Outcome.SKIP
        return Finding(reason, outcome=outcome)
    from grader.grading.steps.speed import measure

    return measure.measure(grading)


def is_scored(spec: Spec) -> bool:
    """Report whether the spec has a scored case. Raises BrokenExercise for an unknown bound."""
    return spec.scored is not None and find_bound(spec.scored.bound) is not None


def asks(spec: Spec) -> str:
    scored, gates = spec.timed
    columns = f", rows of {scored.row}" if scored.row else ""
    return (
        f"{scored.dtype}{columns}, sized to the GPU: {percent(gates.passing)} of "
        f"this GPU's ceiling passes, {percent(gates.great)} is great"
    )


STEP = Step(
    name="speed",
    title="a kernel reaches its share of what this GPU can do",
    points=3,
    needs=("memory",),
    may_skip=True,  # on a machine without a GPU
    applies=is_scored,
    asks=asks,
    run=speed,
    slow=slow.timing,
)
