"""The step `randomness`: what a kernel draws from its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec


def randomness(grading: Grading) -> Finding:
    from grader.grading.steps.randomness import calls

    return calls.randomness(grading)


def draws(spec: Spec) -> bool:
    return spec.random is not None


def asks(spec: Spec) -> str:
    assert spec.random is not None
    names, case = " or ".join(c.name for c in spec.random.choices), spec.random.case.headline
    return f"each element is {names} by itself, by the seed and its place alone; tested for {case}"


STEP = Step(
    name="randomness",
    title="the draws are as random as asked, and the same for the same seed",
    points=2,
    needs=("correctness",),
    applies=draws,
    asks=asks,
    run=randomness,
    slow=slow.calls,
    compares=True,
)
