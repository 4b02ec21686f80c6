"""A tree of sums whose last step is left out."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by a loop that halves a number, and ends before that is 1."""
    for kernel in evidence.text.kernels:
        for node in ast.walk(kernel):
            if isinstance(node, ast.While) and _stops_at_one(node):
                return Explanation(
                    f"{evidence.quoted(node.lineno)} ends while two sums are left: the last step "
                    "adds one neighbour, so that the loop goes on while the number is above 0.",
                    node.lineno,
                    "off_by_one",
                )
    return None


def _stops_at_one(loop: ast.While) -> bool:
    test = loop.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return False
    bound = test.comparators[0]
    above_one = isinstance(test.ops[0], ast.Gt) and _is(bound, 1)
    from_two = isinstance(test.ops[0], ast.GtE) and _is(bound, 2)
    halves = any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == test.left.id
        and (
            (isinstance(node.op, ast.FloorDiv) and _is(node.value, 2))
            or (isinstance(node.op, ast.RShift) and _is(node.value, 1))
        )
        for node in loop.body
    )
    if any(_is_half(node, test.left.id) for part in loop.body for node in ast.walk(part)):
        return False  # of 2 it uses the half, so that 2 is the last number that it needs
    # A loop that halves first, and adds then, does take the step of 1.
    last = loop.body[-1]
    return (above_one or from_two) and halves and isinstance(last, ast.AugAssign)


def _is_half(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv | ast.RShift)
        and isinstance(node.left, ast.Name)
        and node.left.id == name
    )


def _is(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


CAUSE = Cause(
    name="tree_ends_early",
    looks_at="loops of kernels that halve a number",
    order=46,
    kinds=("value",),
    explain=explain,
)
