"""The line of a failure without outputs, by the text of the kernel file alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.text_causes import with_cause_of_text
from grader.model import Failure

ROOT = Path(__file__).parents[2]
LATE = Failure(kind="timeout", message="it took longer than 10 s", hint="Look at its loops.")
SOURCE = """from numba import cuda

@cuda.jit
def kernel(a, out):
    by = 8
    {head}
        by *= 2
"""


def named(head: str, failure: Failure = LATE, **options: Any) -> Failure:
    grading = SimpleNamespace(
        exercise=catalog.find(ROOT, "p12_dot"),
        options=Options(device="cpu", **options),
        source=SOURCE.format(head=head).splitlines(),
        note=lambda error: None,
    )
    return with_cause_of_text(failure, cast(Grading, grading))


def test_a_kernel_that_takes_too_long_is_asked_about_its_loop() -> None:
    failure = named("while by > 0:")
    assert [frame.line for frame in failure.frames] == [6]
    assert failure.hint == (
        "Look at its loops. Does the loop of line 6 (while by > 0:) end? "
        "Line 7 (by *= 2) changes what it asks for."
    )


def test_no_other_failure_and_no_other_loop_is_asked_about() -> None:
    assert named("for k in range(8):") == LATE
    assert named("while by > 0:", shrink=False) == LATE
    slow = LATE.model_copy(update={"kind": "deadlock"})
    assert named("while by > 0:", slow) == slow
