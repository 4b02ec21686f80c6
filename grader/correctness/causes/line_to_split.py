"""A line that reads an element of an array while another thread stores to it in the same line."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.causes.not_atomic import BEFORE
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, root_of, statement_at


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a race of a line with itself: it reads another thread's element, `s[t] += s[t - by]`.

    Return None inside a loop without a barrier: there, a barrier between turns may be enough.
    """
    frames, before = evidence.failure.frames, BEFORE.search(evidence.failure.message)
    if not frames or before is None or int(before[1]) != frames[-1].line:
        return None
    if "with no barrier between the two" not in evidence.failure.message:
        return None
    line = frames[-1].line
    function = evidence.text.around(line)
    statement = None if function is None else statement_at(function, line)
    reads = [] if statement is None else _other_elements(statement)
    if function is None or len(reads) != 1 or not _each_turn_waits(evidence, function, line):
        return None
    inside = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.If) and node.lineno < line <= (node.end_lineno or 0)
    ]
    where = f", outside of the `if` of line {min(inside)}" if inside else ""
    return Explanation(
        f"{evidence.quoted(line)} reads {reads[0]}, which another thread changes in the same line. "
        f"Split the line: read it into a variable. Let all threads wait at a barrier{where}. Then "
        "store.",
        line,
        "race",
    )


def _other_elements(statement: ast.stmt) -> list[str]:
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return []
    target, value = getattr(statement, "target", None), statement.value
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    if not isinstance(target, ast.Subscript):
        return []
    read = {
        ast.unparse(node)
        for node in ast.walk(value)
        if isinstance(node, ast.Subscript) and root_of(node) == root_of(target)
    }
    return sorted(read - {ast.unparse(target)})


def _each_turn_waits(evidence: Evidence, function: ast.FunctionDef, line: int) -> bool:
    loops = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.For | ast.While) and node.lineno < line <= (node.end_lineno or 0)
    ]
    if not loops and function not in evidence.text.kernels:
        return False
    return all(calls(loop, "syncthreads") for loop in loops)


CAUSE = Cause(
    name="line_to_split",
    looks_at="a race of a line with itself, the elements that it reads, and the barriers of loops",
    order=62,
    kinds=("race",),
    explain=explain,
)
