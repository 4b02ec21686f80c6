"""Arguments of a launch whose names say that they are in the wrong order."""

from __future__ import annotations

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.swaps import exchanged


def explain(evidence: Evidence) -> Explanation | None:
    swap = exchanged(evidence.text)
    if swap is None:
        return None
    one, other, line = swap
    return Explanation(
        f"Line {line} hands over {one} where the kernel's parameters have {other}, and {other} "
        f"where they have {one}: are the two exchanged?",
        line,
        "swapped_arguments",
    )


CAUSE = Cause(
    name="swapped_in_launch",
    looks_at="the names of a launch's arguments and of the kernel's parameters",
    order=17,
    kinds=OUTPUTS,
    explain=explain,
)
