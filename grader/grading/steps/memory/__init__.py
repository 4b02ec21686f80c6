"""The step `memory`: how much one call holds beyond its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec


def memory(grading: Grading) -> Finding:
    from grader.grading.steps.memory import measure

    return measure.memory(grading)


def is_scored(spec: Spec) -> bool:
    return spec.scored is not None


def asks(spec: Spec) -> str:
    from grader.grading.steps.memory import limits

    return limits.asks(spec)


STEP = Step(
    name="memory",
    title="a call holds little beyond its arguments",
    points=1,
    needs=("traffic", "counts"),
    applies=is_scored,
    asks=asks,
    run=memory,
    slow=slow.calls,
    alone=True,
)
