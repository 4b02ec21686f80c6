"""An update that reads an element and writes it back, while others update it, too."""

from __future__ import annotations

import ast
import re

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import Source, assigned, calls, names_in, root_of, statement_at

BEFORE = re.compile(r", which .* (?:wrote|read) in line (\d+)\b")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a race in which both sides belong to one update of one element."""
    frames, before = evidence.failure.frames, BEFORE.search(evidence.failure.message)
    if not frames or before is None:
        return None
    line, other = frames[-1].line, int(before[1])
    if evidence.threads and line == other and _adds_in_place(evidence.text, line):
        adding = "cuda.atomic.add(array, index, value)"
    elif not evidence.threads and _loads_and_stores(evidence.text, line, other):
        adding = "tl.atomic_add(pointer, value)"
    else:
        return None
    return Explanation(
        f"{evidence.quoted(max(line, other))} writes back what it read before, plus something, and "
        f"others do so at the same time: what they add is lost. {adding} does both in one step.",
        max(line, other),
    )


def _adds_in_place(source: Source, line: int) -> bool:
    """Say whether a line adds to an element, from anything but the same array.

    A tree that adds neighbours, as in `s[t] += s[t + half]`, lacks a barrier, not an atomic.
    """
    function = source.around(line)
    statement = None if function is None else statement_at(function, line)
    target: ast.expr
    if isinstance(statement, ast.AugAssign):
        target, value = statement.target, statement.value
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        target = statement.targets[0]
        sides = [statement.value.left, statement.value.right]
        others = [each for each in sides if ast.unparse(each) != ast.unparse(target)]
        if len(others) != 1:
            return False
        [value] = others
    else:
        return False
    return isinstance(target, ast.Subscript) and root_of(target) not in names_in(value)


def _loads_and_stores(source: Source, line: int, other: int) -> bool:
    """Say whether one of two lines stores a sum to the pointers that the other loads from."""
    kernel = source.around(line)
    if kernel is None or source.around(other) is not kernel:
        return False
    for read, written in ((line, other), (other, line)):
        loading, storing = statement_at(kernel, read), statement_at(kernel, written)
        if loading is None or storing is None:
            continue
        loads, stores = calls(loading, "load"), calls(storing, "store")
        if not loads or not stores or len(stores[0].args) < 2 or not loads[0].args:
            continue
        pointer, value = stores[0].args[:2]
        if ast.unparse(loads[0].args[0]) == ast.unparse(pointer) and _has(kernel, value, loads[0]):
            return True
    return False


def _has(kernel: ast.FunctionDef, value: ast.expr, load: ast.Call) -> bool:
    seen: set[str] = set()
    parts: list[ast.AST] = [value]
    found = False
    while parts and not found:
        part = parts.pop()
        found = any(each is load for each in ast.walk(part))
        for name in names_in(part) - seen:
            seen.add(name)
            parts += assigned(kernel, name)
    return found


CAUSE = Cause(
    name="not_atomic",
    looks_at="the two lines of a race, and whether they are one update",
    order=35,
    kinds=("race",),
    explain=explain,
)
