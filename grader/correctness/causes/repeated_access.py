"""Elements that are moved more often than needed, and other counts above a budget."""

from __future__ import annotations

import re

from grader.correctness.accesses import lines_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence

UNSHARED = ("the busiest thread reads shared", "the busiest thread writes to shared")
ELEMENTS = re.compile(r"every element of (\w+) is (read|written) ")
# By a part of the message about a count that is above its budget.
COUNTS = {
    "32-byte pieces": "uncoalesced",
    "transactions in all": "uncoalesced",
    "bank has": "bank_conflicts",
    "bank conflict": "bank_conflicts",
    "memory": "repeated_access",
    "busiest program": "repeated_access",
}


def explain(evidence: Evidence) -> Explanation | None:
    failure = evidence.failure
    hint = failure.hint or ""
    found = ELEMENTS.match(failure.message)
    if found is None:
        for text, cause in COUNTS.items():
            if text in failure.message:
                if failure.message.startswith(UNSHARED) and failure.expected == "none":
                    cause = "no_shuffle"
                line = failure.frames[-1].line if failure.frames else 0
                return Explanation(hint, line, cause)
        return None
    argument, verb = found.groups()
    lines = lines_of(evidence.text, argument, reading=verb == "read")
    if not lines:
        return Explanation(hint)
    numbers = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"
    return Explanation(f"{hint} {argument} is {verb} at {numbers}.", lines[-1])


CAUSE = Cause(
    name="repeated_access",
    looks_at="counts that are above what an exercise allows",
    order=60,
    kinds=("counts", "traffic"),
    explain=explain,
)
