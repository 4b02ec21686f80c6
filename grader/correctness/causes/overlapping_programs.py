"""Programs that store other values to one element: rows, or blocks, overlap."""

from __future__ import annotations

import re

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence

OVERLAP = re.compile(r"program \d+ writes another value to element \d+ of (\w+),")


def explain(evidence: Evidence) -> Explanation | None:
    found = OVERLAP.search(evidence.failure.message)
    argument = next(
        (a for a in evidence.spec.arguments if found is not None and a.name == found[1]), None
    )
    if argument is None:
        return None
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    hint = evidence.failure.hint or ""
    first = evidence.spec.arguments[0].name
    table = argument.like == first or argument.role == "inout"
    if len(evidence.spec.largest) == 2 and table and not _has_stride(evidence, argument.name):
        return Explanation(
            f"Two programs store to one element of {argument.name}: if each has a row of its own, "
            f"row i begins at i * {argument.name}.stride(0).",
            line,
            "row_stride",
        )
    return Explanation(hint, line, "written_twice")


def _has_stride(evidence: Evidence, name: str) -> bool:
    """Say whether a function of the host hands over the argument's own stride."""
    text = "\n".join(evidence.source)
    return f"{name}.stride" in text or f"{name}.strides" in text


CAUSE = Cause(
    name="overlapping_programs",
    looks_at="the message about a race of two stores",
    order=40,
    kinds=("race",),
    explain=explain,
)
