"""Values that `other=` gives to masked lanes, followed to the reductions that they enter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.correctness.source import assigned, calls, last_name

LOWEST, HIGHEST, ZERO, ELSE = "-inf", "inf", "0", "another number"
# The reductions, as a text says them, and what the lanes outside must hold there.
NEUTRAL = {"sum": ZERO, "maximum": LOWEST, "minimum": HIGHEST}
REDUCTIONS = {
    "sum": "sum",
    "max": "maximum",
    "maximum": "maximum",
    "min": "minimum",
    "minimum": "minimum",
}
DEEPEST = 12


@dataclass(frozen=True)
class Entry:
    """A reduction that masked lanes enter with a value which changes its result.

    `filled` is what the load at line `load` gives them, `value` what has become of it.
    """

    load: int
    line: int
    reduction: str
    filled: str
    value: str


def harmful(kernel: ast.FunctionDef) -> Iterator[Entry]:
    """Yield the reductions that the filled lanes of a load change, in the order of the text."""
    loads = [call for call in calls(kernel, "load") if _other(call) is not None]
    found = []
    for node in ast.walk(kernel):
        for reduction, value in _reduced(node):
            for load in loads:
                held = _held(kernel, value, load, node, 0)
                if held is not None and held != NEUTRAL[reduction]:
                    filled = _other(load) or ELSE
                    found.append(Entry(load.lineno, value.lineno, reduction, filled, held))
    yield from sorted(found, key=lambda each: (each.line, each.load))


def _reduced(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Call) and last_name(node.func) in REDUCTIONS:
        for value in node.args:
            yield REDUCTIONS[last_name(node.func)], value
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield "sum", node.value


def _other(load: ast.Call) -> str | None:
    given = [each.value for each in load.keywords if each.arg == "other"]
    return _constant(given[0]) if given else None


def _constant(node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return {HIGHEST: LOWEST, LOWEST: HIGHEST, ZERO: ZERO}.get(_constant(node.operand), ELSE)
    if isinstance(node, ast.Call) and last_name(node.func) == "float" and node.args:
        [text] = node.args[:1]
        told = str(text.value).strip("+") if isinstance(text, ast.Constant) else ""
        return told if told in (LOWEST, HIGHEST) else ELSE
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return ZERO if node.value == 0 else ELSE
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        return HIGHEST
    return ELSE


def _held(
    kernel: ast.FunctionDef, node: ast.expr, load: ast.Call, reader: ast.AST, depth: int
) -> str | None:
    """Return what a load's masked lanes hold in an expression; None where it has none of them.

    `tl.where` is taken to replace them.
    """
    if node is load:
        return _other(load)
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Name):
        given = _before(kernel, node.id, reader)
        if not isinstance(given, ast.Assign):
            return None
        return _held(kernel, given.value, load, given, depth + 1)
    if isinstance(node, ast.Call):
        return _of_call(kernel, node, load, reader, depth)
    if isinstance(node, ast.BinOp):
        left = _held(kernel, node.left, load, reader, depth + 1)
        return None if left is None else _of_operator(node.op, left)
    return None


def _before(kernel: ast.FunctionDef, name: str, reader: ast.AST) -> ast.stmt | None:
    """Return the last assignment to a name above a node."""
    line = getattr(reader, "lineno", 0)
    earlier = [each for each in assigned(kernel, name) if each.lineno < line]
    return earlier[-1] if earlier else None


def _of_call(
    kernel: ast.FunctionDef, node: ast.Call, load: ast.Call, reader: ast.AST, depth: int
) -> str | None:
    name = last_name(node.func)
    if name in ("to", "cast") and isinstance(node.func, ast.Attribute):
        return _held(kernel, node.func.value, load, reader, depth + 1)
    if name in ("exp", "exp2", "abs") and node.args:
        held = _held(kernel, node.args[0], load, reader, depth + 1)
        if held is None:
            return None
        if name == "abs":
            return HIGHEST if held == LOWEST else held
        return {LOWEST: ZERO, HIGHEST: HIGHEST}.get(held, ELSE)
    return None


def _of_operator(operator: ast.operator, left: str) -> str | None:
    if left in (LOWEST, HIGHEST):
        return left if isinstance(operator, ast.Add | ast.Sub) else None
    if isinstance(operator, ast.Mult | ast.Div) and left == ZERO:
        return ZERO
    return ELSE if isinstance(operator, ast.Add | ast.Sub) else None


def needed(reduction: str) -> str:
    """Return how the value is written that changes nothing in a reduction."""
    return {ZERO: "0.0", LOWEST: 'float("-inf")', HIGHEST: 'float("inf")'}[NEUTRAL[reduction]]
