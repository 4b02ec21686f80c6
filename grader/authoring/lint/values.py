"""The names and values in the source of a kernel, followed through assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.authoring.lint.source import Function

Spreads = Callable[[ast.AST, set[str]], bool]  # of an expression, given the names known to


def body_of(kernel: Function) -> Iterator[ast.AST]:
    for statement in kernel.body:
        yield from ast.walk(statement)


def names_in(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def terms(expression: ast.AST) -> Iterator[str]:
    """Yield the names that a sum adds up."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            waiting += [node.left, node.right]


def spread(values: dict[str, list[ast.expr]], has: Spreads) -> set[str]:
    """Return the names that are assigned a value with a trait, directly or through other names."""
    known: set[str] = set()
    before = -1
    while before != len(known):
        before = len(known)
        known |= {name for name, assigned in values.items() if any(has(v, known) for v in assigned)}
    return known
