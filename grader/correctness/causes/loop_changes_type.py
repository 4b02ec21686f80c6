"""A variable that a loop, or a branch, makes a value of another type or shape."""

from __future__ import annotations

import re

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned

CHANGED = re.compile(r"[Ll]oop.carried variable (\w+) (?:has initial type|changed type)")
REDUCED = re.compile(r"has initial type \w+\[.*\] but is re-assigned to \w+ in loop")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by the compiler's sentence, which names the variable that changes."""
    changed, frames = CHANGED.search(evidence.failure.message), evidence.failure.frames
    function = evidence.text.around(frames[-1].line) if frames else None
    if changed is None or function is None:
        return None
    lines = [each.lineno for each in assigned(function, changed[1])]
    before = [line for line in lines if line < frames[-1].line]
    inside = [line for line in lines if line > frames[-1].line]
    if not before or not inside:
        return None
    if REDUCED.search(evidence.failure.message):
        number = f"{evidence.quoted(inside[0])} makes {changed[1]} one number, and it was a vector."
        return Explanation(f"{number} {evidence.failure.hint or ''}".rstrip(), inside[0])
    return Explanation(
        f"{evidence.quoted(before[-1])} gives {changed[1]} another type or shape than "
        f"line {inside[0]} in the loop does. {evidence.failure.hint or ''}".rstrip(),
        before[-1],
    )


CAUSE = Cause(
    name="loop_changes_type",
    looks_at="the compiler's sentence about a variable of a loop",
    order=15,
    kinds=("compile",),
    explain=explain,
)
