"""Elements that are moved more often than needed, and other counts above a budget."""

from __future__ import annotations

import ast
import re

from grader.correctness.accesses import lines_of
from grader.correctness.addresses import accesses, arguments_of, grid_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, lines_with

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
    if extra := _never_asks(evidence) or _further_axis(evidence):
        return extra
    lines = lines_of(evidence.text, argument, reading=verb == "read")
    if not lines:
        return Explanation(hint)
    if not evidence.threads:
        hint = hint.replace(", and let only one thread store it", ", and store it once")
    numbers = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"
    return Explanation(f"{hint} {argument} is {verb} at {numbers}.", lines[-1])


def _never_asks(evidence: Evidence) -> Explanation | None:
    """Explain programs that never ask for their number, so each of them does all the work."""
    if evidence.threads or any(lines_with(node, "program_id") for node in evidence.text.functions):
        return None
    for kernel in evidence.text.kernels:
        for launch, host, _ in arguments_of(evidence.text, kernel):
            grid = grid_of(evidence.text, launch, host)
            one = all(isinstance(each, ast.Constant) and each.value == 1 for each in grid)
            if accesses(kernel) and not one:
                return Explanation(
                    f"{kernel.name} never asks for tl.program_id, so that each of the programs "
                    "does all of the work: let its number say which part a program takes. "
                    f"{evidence.quoted(launch.lineno)} starts the programs.",
                    accesses(kernel)[0].lineno,
                    "program_id_unused",
                    complete=True,
                )
    return None


def _further_axis(evidence: Evidence) -> Explanation | None:
    """Explain programs along an axis that no kernel asks for: each does the work of the first."""
    if evidence.threads:
        return None
    for kernel in evidence.text.kernels:
        asked = [ast.unparse(each) for call in calls(kernel, "program_id") for each in call.args]
        for launch, host, _ in arguments_of(evidence.text, kernel):
            grid = grid_of(evidence.text, launch, host)
            axis = len(grid) - 1
            one = isinstance(grid[-1], ast.Constant) and grid[-1].value == 1
            if axis and asked and asked == ["0"] * len(asked) and not one:
                return Explanation(
                    f"{evidence.quoted(launch.lineno)} starts programs along {len(grid)} axes, and "
                    f"{kernel.name} never asks for tl.program_id({axis}): all programs along that "
                    "axis do the same work. The brackets hold numbers of programs alone; how many "
                    "threads a program has is num_warps.",
                    launch.lineno,
                )
    return None


CAUSE = Cause(
    name="repeated_access",
    looks_at="counts that are above what an exercise allows",
    order=60,
    kinds=("counts", "traffic"),
    explain=explain,
)
