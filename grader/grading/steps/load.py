"""The step `load`: import the kernel file in a worker and find its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading


def load(grading: Grading) -> Finding:
    from grader import backends
    from grader.course import imported_backends, stubs
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
    named = imported_backends(grading.spec, grading.kernel)
    if len(named) > 1:
        titles = " and ".join(map(backends.title, named))
        raise KernelFailure(
            Failure(
                kind="several_backends",
                message=f"the file imports the modules of {titles}, and must be in one of them",
                hint="Import those of one alone.",
            )
        )
    grading.executor.load()
    counting.begin(grading)
    return Finding(grading.spec.signature)


# It earns no points, or an untouched stub would score.
STEP = Step(
    name="load", title="the file is imported and has the entry", run=load, slow=slow.importing
)
