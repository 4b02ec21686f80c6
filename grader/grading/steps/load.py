"""The step `load`: import the kernel file in a worker and find its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading


def load(grading: Grading) -> Finding:
    from grader.course import stubs
    from grader.grading import counting
    from grader.model import Failure
    from grader.sandbox import KernelFailure

    if not grading.kernel.strip():
        raise KernelFailure(
            Failure(
                kind="empty",
                message="the kernel file is empty",
                hint=stubs.recovery(grading.exercise, grading.kernel_path),
            )
        )
    grading.executor.load()
    counting.begin(grading)
    return Finding(grading.spec.signature)


# It earns no points, or an untouched stub would score.
STEP = Step(
    name="load", title="the file is imported and has the entry", run=load, slow=slow.importing
)
