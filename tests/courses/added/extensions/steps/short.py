"""The step `short`: a kernel file has few lines."""

from grader.grading import Finding, Step
from grader.model import Failure, Outcome

MOST = 40  # lines


def short(grading):
    lines = len(grading.source)
    summary = f"{lines} lines"
    if lines <= MOST:
        return Finding(summary)
    failure = Failure(kind="long", message=f"{summary}, where {MOST} are enough")
    return Finding(summary, failure, Outcome.FAIL)


STEP = Step(
    name="short",
    title="the kernel file is short",
    points=1,
    needs=("correctness",),
    kinds=("kernel",),
    asks=lambda spec: f"at most {MOST} lines",
    run=short,
)
