"""The step `correctness`: compare the kernel's outputs with torch's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading


def correctness(grading: Grading) -> Finding:
    from grader.grading.steps.correctness import compare, no_work

    if grading.options.pretend is not None:
        return no_work.every_case(grading)
    return compare.correctness(grading)


STEP = Step(
    name="correctness",
    title="the outputs are those of torch, computed in float64",
    points=3,
    needs=("load",),
    run=correctness,
    slow=slow.calls,
    compares=True,
)
