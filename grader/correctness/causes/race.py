"""Accesses that nothing orders, in an exercise that teaches atomics."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import statement_at


def explain(evidence: Evidence) -> Explanation | None:
    """Offer an atomic where the hints of the exercise have one; elsewhere none is taught yet."""
    frames, hint = evidence.failure.frames, evidence.failure.hint or ""
    if not frames or not any("atomic" in each for each in evidence.spec.hints):
        return None
    line = frames[-1].line
    function = evidence.text.around(line)
    statement = None if function is None else statement_at(function, line)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
        name = "cuda.atomic.add" if evidence.threads else "tl.atomic_add"
        return Explanation(
            f"{evidence.quoted(line)} reads, adds and writes, and others do so at the same time: "
            f"{name} does all three at once.",
            line,
            "not_atomic",
        )
    return Explanation(f"{hint} Or make both accesses atomic.".lstrip(), line)


CAUSE = Cause(
    name="race",
    looks_at="the line that updates an element, and the hints of the exercise",
    order=90,
    kinds=("race",),
    explain=explain,
)
