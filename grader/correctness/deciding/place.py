"""The lines that decide where and how often a line stores: its index, its condition, the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.deciding.further import NUMBERS, Further, Head, around, of_condition
from grader.correctness.evidence import Evidence
from grader.correctness.source import (
    assigned,
    calls,
    grid_line,
    last_name,
    mentions,
    names_in,
    statement_at,
)

MOST_STEPS = 4  # from an index back to the numbers of threads that it is made of


def of_place(evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt) -> Iterator[Further]:
    """Yield the lines that decide which elements a line stores, the likeliest mistakes first.

    A condition about places is seldom the mistake where some of the stores ran.
    """
    conditions = [each for each in around(kernel, statement) if isinstance(each, ast.If)]
    if conditions and (not evidence.uses or _asks_for_values(kernel, conditions[0])):
        yield of_condition(conditions[0])
    if line := _place_line(kernel, statement, _stored_at(statement)):
        yield Further(line, "{} computes the place.")
    if grid := grid_line(evidence.text):
        many = "threads" if evidence.threads else "programs"
        yield Further(grid, f"{{}} decides how many {many} there are.")


def of_access(evidence: Evidence) -> str:
    """Say which line computes the place of an access out of bounds."""
    frames = evidence.failure.frames
    if evidence.failure.kind != "out_of_bounds" or not frames:
        return ""
    line = frames[-1].line
    kernel = evidence.text.around(line)
    statement = None if kernel is None else statement_at(kernel, line)
    if kernel is None or statement is None or isinstance(statement, Head):
        return ""
    place = _place_line(kernel, statement, _accessed_at(statement))
    said = Further(place, f"{{}} computes a place that line {line} uses.")
    return said.text(evidence) if place not in (0, line) else ""


def _asks_for_values(kernel: ast.FunctionDef, head: ast.If) -> bool:
    for name in names_in(head.test):
        for each in assigned(kernel, name):
            value = getattr(each, "value", None)
            if isinstance(value, ast.Subscript) or (value is not None and calls(value, "load")):
                return True
    return False


def _place_line(kernel: ast.FunctionDef, statement: ast.stmt, names: set[str]) -> int:
    line = 0
    for _ in range(MOST_STEPS):
        given = [
            each
            for name in sorted(names)
            for each in assigned(kernel, name)
            if each.lineno < statement.lineno and isinstance(each, ast.Assign | ast.For)
        ]
        made = [each for each in given if _is_computed(each)]
        plain = [] if line else [each.lineno for each in given if mentions(each, *NUMBERS)]
        if not made:
            return plain[-1] if plain else line
        chosen = made[-1]
        line = chosen.lineno
        names = names_in(chosen.iter if isinstance(chosen, ast.For) else chosen.value)
    return line


def _is_computed(statement: ast.Assign | ast.For) -> bool:
    """Say whether a statement computes a place, and not only names a thread's number."""
    if isinstance(statement, ast.For):
        return mentions(statement.iter, *NUMBERS)
    return isinstance(statement.value, ast.BinOp)


def _stored_at(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        return names_in(target.slice) if isinstance(target, ast.Subscript) else set()
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return names_in(statement.value.args[0]) if statement.value.args else set()
    return set()


def _accessed_at(statement: ast.stmt) -> set[str]:
    found = _stored_at(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript):
            found |= names_in(node.slice)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("load", "store") and node.args:
            found |= names_in(node.args[0])
    return found
