"""A reason for elements that are left out, and what is known of a launch."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from grader.correctness.evidence import Evidence


@dataclass(frozen=True)
class Reason:
    """A reason for gaps: a stable word, a question about it, and the line that it is about."""

    cause: str
    question: str
    line: int


def programs_of(evidence: Evidence) -> int:
    total = 0
    for launch in evidence.launches or ():
        x, y, z = launch.grid
        total = max(total, x * y * z)
    return total


def returned_by(evidence: Evidence, name: str) -> list[ast.expr]:
    """Return what a helper of this name, which makes a grid, may return."""
    return [
        node.value
        for helper in evidence.text.hosts
        if helper.name == name
        for node in ast.walk(helper)
        if isinstance(node, ast.Return) and node.value is not None
    ]
