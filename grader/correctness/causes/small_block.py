"""Programs that are too many, because each has a single element along an axis."""

from __future__ import annotations

import ast
import re

from grader.correctness.addresses import accesses, terms
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, grid_line, statement_at

PROGRAMS = re.compile(r"\d programs? in all")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain too many programs: each takes one element, or the block does not divide the grid."""
    if not PROGRAMS.search(evidence.failure.message):
        return None
    for kernel in evidence.text.kernels:
        numbers, ranges = calls(kernel, "program_id"), calls(kernel, "arange")
        one = [each for each in ranges if len(each.args) == 2 and _is_one(each.args[1])]
        if numbers and (one or not ranges):
            line = (one or numbers)[0].lineno
            return Explanation(
                f"{evidence.quoted(line)} gives each program one element. "
                f"{evidence.failure.hint or ''}".rstrip(),
                line,
            )
        if undivided := _undivided(evidence, kernel):
            return undivided
    return None


def _undivided(evidence: Evidence, kernel: ast.FunctionDef) -> Explanation | None:
    """Explain a program for each element, of a kernel whose programs take a block of lanes."""
    line = grid_line(evidence.text)
    host = evidence.text.around(line)
    statement = None if host is None else statement_at(host, line)
    number = getattr(statement, "value", None)
    lanes = {
        part.lanes
        for call in accesses(kernel)
        for part in terms(kernel, call.args[0])
        if part.lanes is not None
    }
    if not isinstance(statement, ast.Return) or not isinstance(number, ast.Name) or len(lanes) != 1:
        return None
    [size] = lanes
    rounded = re.sub(r"\bn\b", number.id, evidence.rounded_up.replace("BLOCK", size))
    return Explanation(
        f"{evidence.quoted(line)} starts a program for each of {number.id} elements, and a program "
        f"has {size} lanes: divide by {size} and round up, as {rounded} does.",
        line,
    )


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


CAUSE = Cause(
    name="small_block",
    looks_at="the number of programs, and the sizes of blocks",
    order=40,
    kinds=("counts",),
    explain=explain,
)
