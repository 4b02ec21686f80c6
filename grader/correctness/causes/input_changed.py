"""A line that stores to an input."""

from __future__ import annotations

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.swaps import exchanged


def explain(evidence: Evidence) -> Explanation | None:
    swap = exchanged(evidence.text)
    if swap is not None:
        one, other, line = swap
        return Explanation(
            f"Line {line} hands over {one} where the kernel's parameters have {other}, and "
            f"{other} where they have {one}: are the two exchanged?",
            line,
            "swapped_arguments",
        )
    for argument in evidence.spec.arguments:
        lines = [u.line for u in evidence.uses if u.argument == argument.name and u.writes]
        if argument.role == "in" and lines:
            return Explanation(
                f"{evidence.quoted(min(lines))} stores to {argument.name}, which is an input: "
                "inputs must be as they were. Does the result belong into an output?",
                min(lines),
            )
    return None


CAUSE = Cause(
    name="input_changed",
    looks_at="the lines that store to an input",
    order=30,
    kinds=("input_changed",),
    explain=explain,
)
