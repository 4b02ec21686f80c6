"""An element of shared memory that is read, and that the only line that fills it leaves out."""

from __future__ import annotations

import ast
import re

from grader.correctness.addresses import text_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import root_of

# Without threads that had ended: then it is their part that is missing.
UNFILLED = re.compile(
    r"reads element .+ of the shared array (?P<name>\w+), which no thread of the block has written$"
)


def explain(evidence: Evidence) -> Explanation | None:
    """Explain an element that one line reads by another index than another line fills it by."""
    found = UNFILLED.search(evidence.failure.message)
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    function = evidence.text.around(line)
    if found is None or function is None:
        return None
    elements = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and root_of(node) == found["name"]
    ]
    fills = [node for node in elements if isinstance(node.ctx, ast.Store)]
    filled = {text_of(node) for node in fills}
    read = {text_of(node) for node in elements if node.lineno == line} - filled
    if len(fills) != 1 or len(read) != 1 or fills[0].lineno >= line:
        return None
    fill = fills[0].lineno
    return Explanation(
        f"{evidence.quoted(fill)} fills {filled.pop()}{_where(evidence, function, fill)}. "
        f"Line {line} reads {read.pop()}: does its index lead beyond that, or should more be "
        "filled? Shared memory starts with arbitrary contents.",
        line,
        "unwritten_read",
    )


def _where(evidence: Evidence, function: ast.FunctionDef, line: int) -> str:
    heads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.If) and node.lineno < line <= (node.body[-1].end_lineno or 0)
    ]
    if len(heads) != 1:
        return ""
    return f" only where line{evidence.quoted(heads[0].lineno)[4:]} holds"


CAUSE = Cause(
    name="unfilled_shared",
    looks_at="the index of a read of shared memory, and that of the only line that fills it",
    order=92,
    kinds=("uninitialised",),
    explain=explain,
)
