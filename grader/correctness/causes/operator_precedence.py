"""Comparisons that `&` or `|` joins without parentheses, and so makes one chain of them."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by `i < n & j < m` on the line that fails, or in the kernel around it."""
    frames = evidence.failure.frames
    function = evidence.text.around(frames[-1].line) if frames else None
    if function is None or function not in evidence.text.kernels:
        return None
    refused = evidence.failure.kind in ("compile", "exception")
    for node in ast.walk(function):
        if not isinstance(node, ast.Compare) or (refused and not _covers(node, frames[-1].line)):
            continue
        joined = _joined(node)
        if joined is not None:
            sign = "&" if isinstance(joined.op, ast.BitAnd) else "|"
            first, last = ast.unparse(joined.left)[:40], ast.unparse(joined.right)[:40]
            return Explanation(
                f"{evidence.quoted(node.lineno)} compares with `{first} {sign} {last}`, for "
                f"`{sign}` binds more tightly than comparisons do: put each comparison into "
                "parentheses of its own, as in (i < n) & (j < m).",
                node.lineno,
            )
    return None


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _joined(node: ast.Compare) -> ast.BinOp | None:
    """Return the middle part of a chain that `&` or `|` joins."""
    for part in node.comparators[:-1]:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd | ast.BitOr):
            return part
    return None


CAUSE = Cause(
    name="operator_precedence",
    looks_at="the comparisons on the line that fails",
    order=15,
    kinds=("compile", "exception", "out_of_bounds", "stray_write"),
    explain=explain,
)
