"""Sentences about operands of another kind: an address for a number, a block for an axis."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from grader.backends.triton.subscripts import short

# Triton's: of an axis that only a run knows, of one that is a fraction, of a number for a block.
_NO_AXIS = ("_semantic", "create_reduce()", "'constexpr_type' object has no attribute 'scalar'")
_REDUCTIONS = ("max", "min", "sum")


def sentence(errors: Sequence[Any]) -> str | None:
    """Return what an operand is; None for a compiler's error about anything else.

    `errors` are those of the kernel and of the functions that it calls: the last says what is
    wrong, at times in Triton's own code.
    """
    said = errors[-1].error_message or "" if errors else ""
    for error in reversed(errors):
        node = error.node
        if any(part in said for part in _NO_AXIS) and _reduces_two(node):
            return f"tl.{node.func.attr} takes one block and its axis: {short(node, 'not two')}"
    return None


def _reduces_two(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[_, second, *_]) if name in _REDUCTIONS:
            return not (isinstance(second, ast.Constant) and isinstance(second.value, int))
    return False
