"""The step `properties`: what the tests in an exercise's test_kernel.py came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step
from grader.model import Outcome

if TYPE_CHECKING:
    from grader.grading.session import Grading


def properties(grading: Grading) -> Finding:
    from grader.model import Failure

    ran = grading.tests
    if not ran:
        entry = grading.exercise.entry
        of = "" if entry is None else f" of {entry}"
        failure = Failure(
            kind="error",
            message=f"{grading.exercise.tests} holds no test{of}: nothing passes by default",
            hint="Tell whoever wrote the exercise; your kernel is not at fault.",
        )
        return Finding("no property was tested", failure, Outcome.ERROR)
    failed = [test for test in ran if test.outcome is not Outcome.PASS]
    summary = _summary([test.title for test in ran], [test.title for test in failed])
    took = sum(test.duration_s for test in ran)
    if not failed:
        return Finding(summary, earlier_s=took)
    return Finding(summary, failed[0].failure, failed[0].outcome, earlier_s=took)


def _summary(ran: list[str], failed: list[str]) -> str:
    if failed and len(ran) == 1:
        return f"1 property fails: {failed[0]}"
    if failed:
        return f"{len(failed)} of {len(ran)} properties fail: {', '.join(failed)}"
    hold = "1 property holds" if len(ran) == 1 else f"{len(ran)} properties hold"
    return f"{hold}: {', '.join(ran)}"


STEP = Step(
    name="properties",
    title="the tests of the exercise hold",
    points=2,
    needs=("correctness", "randomness"),
    runs_tests=True,
    run=properties,
    slow=slow.calls,
    compares=True,
)
