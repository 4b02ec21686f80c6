"""A line beside the one that a report names, and what it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.correctness.evidence import Evidence

MOST = 2  # lines that are added to the one that stores
# Calls and names that number threads, programs or lanes.
NUMBERS = ("program_id", "threadIdx", "blockIdx", "grid", "gridsize", "arange", "laneid")

Loop = ast.For | ast.While
Head = Loop | ast.If


@dataclass(frozen=True)
class Further:
    """A line, and what it decides: a sentence with `{}` for the quoted line."""

    line: int
    sentence: str

    def text(self, evidence: Evidence) -> str:
        quoted = evidence.quoted(self.line)
        at_first = self.sentence.startswith("{")
        return self.sentence.format(quoted if at_first else f"line{quoted[4:]}")


def sentences(evidence: Evidence, line: int, further: Iterator[Further]) -> str:
    """Join the sentences about the first few lines that are others than `line`."""
    found: dict[int, str] = {}
    for each in further:
        if each.line != line:
            found.setdefault(each.line, each.text(evidence))
        if len(found) == MOST:
            break
    return " ".join(found.values())


def around(kernel: ast.FunctionDef, statement: ast.stmt) -> list[Head]:
    """Return the loops and conditions around a statement, the innermost first."""
    inside = [
        node
        for node in ast.walk(kernel)
        if isinstance(node, ast.For | ast.While | ast.If)
        and node.lineno < statement.lineno <= (node.end_lineno or 0)
    ]
    return sorted(inside, key=lambda node: -node.lineno)


def of_condition(head: ast.If) -> Further:
    return Further(head.lineno, "That runs only where {} holds.")
