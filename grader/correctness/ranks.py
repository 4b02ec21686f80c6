"""The number of axes of an expression in a kernel of blocks, as the text shows it."""

from __future__ import annotations

import ast

from grader.correctness.source import assigned, last_name

DEEPEST = 8
NUMBERS = ("program_id", "num_programs", "cdiv")
SAME = ("to", "cast")


def rank_of(kernel: ast.FunctionDef, node: ast.AST, depth: int = 0) -> int | None:
    """Count the axes of an expression: 1 of `tl.arange`, 2 of `x[:, None]`; None if unknown."""
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Constant | ast.Attribute):
        return 0
    if isinstance(node, ast.Name):
        return _of_name(kernel, node.id, depth)
    if isinstance(node, ast.Subscript):
        return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else None
    if isinstance(node, ast.Call):
        return _of_call(kernel, node, depth)
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    return _most(kernel, parts, depth)


def _most(kernel: ast.FunctionDef, parts: list[ast.expr], depth: int) -> int | None:
    ranks = [rank_of(kernel, part, depth + 1) for part in parts]
    known = [rank for rank in ranks if rank is not None]
    return max(known) if known and len(known) == len(ranks) else None


def _of_name(kernel: ast.FunctionDef, name: str, depth: int) -> int | None:
    given = assigned(kernel, name)
    if not given:
        return 0  # a parameter, or a constant of the file
    if len(given) > 1 or not isinstance(given[0], ast.Assign):
        return None
    [target, *more] = given[0].targets
    if more or not isinstance(target, ast.Name):
        return None
    return rank_of(kernel, given[0].value, depth + 1)


def _of_call(kernel: ast.FunctionDef, call: ast.Call, depth: int) -> int | None:
    name = last_name(call.func)
    if name == "arange":
        return 1
    if name in NUMBERS:
        return 0
    if name in SAME and isinstance(call.func, ast.Attribute):
        return rank_of(kernel, call.func.value, depth + 1)
    if name in ("full", "zeros") and call.args and isinstance(call.args[0], ast.Tuple | ast.List):
        return len(call.args[0].elts)
    if name == "load":
        masks = [each.value for each in call.keywords if each.arg == "mask"]
        return _most(kernel, [*call.args[:1], *masks], depth)
    return None
