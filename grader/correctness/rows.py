"""Sums of an address or a mask, taken apart into whole rows and the place in a row."""

from __future__ import annotations

import ast

from grader.correctness.addresses import meaning, terms, text_of


def has_rows(kernel: ast.FunctionDef, node: ast.expr, length: str) -> bool:
    """Say whether one of the terms of a sum is a number of rows of this length."""
    return any(len(each.factors) > 1 and length in each.factors for each in terms(kernel, node))


def without_rows(kernel: ast.FunctionDef, node: ast.expr, length: str) -> list[str]:
    """Return the parts of a sum that are not rows of this length, in the file's own words."""
    if not has_rows(kernel, node, length):
        return [text_of(node)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left = without_rows(kernel, node.left, length)
        return left + without_rows(kernel, node.right, length)
    value = meaning(kernel, node.id) if isinstance(node, ast.Name) else None
    return [] if value is None else without_rows(kernel, value, length)
