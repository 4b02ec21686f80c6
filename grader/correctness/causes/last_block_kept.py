"""An accumulator that each turn of a loop replaces, so that only the last turn counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import depends_on
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, calls, last_name, names_in


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        for loop in (node for node in ast.walk(kernel) if isinstance(node, ast.For | ast.While)):
            for name, line in _replaced(kernel, loop):
                return Explanation(
                    f"{evidence.quoted(line)} gives {name} a new value in each turn, so that the "
                    f"last turn alone counts after the loop: should it go on from the {name} of "
                    "the turns before?",
                    line,
                )
    return None


def _replaced(kernel: ast.FunctionDef, loop: ast.For | ast.While) -> Iterator[tuple[str, int]]:
    """Yield names that begin before a loop, and that its turns set without a look at them.

    A name that the turns also read, such as the block that was loaded, is not an accumulator. One
    that begins at -inf is: it is meant for a maximum.
    """
    inside = [node for each in loop.body for node in ast.walk(each)]
    head = {id(n) for n in ast.walk(loop.target)} if isinstance(loop, ast.For) else set()
    for name in sorted(_set_in(loop.body)):
        given = [each for each in assigned(kernel, name) if _spans(loop, each.lineno)]
        before = [each for each in assigned(kernel, name) if each.lineno < loop.lineno]
        read = any(
            isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            for node in inside
        )
        if not before or len(given) != 1 or not isinstance(given[0], ast.Assign):
            continue
        if read and not _is_lowest(before[-1]):
            continue
        if any(id(node) in head for node in given[0].targets):
            continue
        if _used_after(kernel, loop, name) and not depends_on(kernel, given[0].value, name):
            yield name, _made_at(kernel, loop, given[0])


def _is_lowest(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and last_name(value.func) == "float" and value.args:
        value = value.args[0]
    return isinstance(value, ast.Constant) and value.value == "-inf"


def _made_at(kernel: ast.FunctionDef, loop: ast.For | ast.While, given: ast.Assign) -> int:
    """Return the line that computes a value, where another name of the same turn holds it."""
    if isinstance(given.value, ast.Name):
        earlier = [each for each in assigned(kernel, given.value.id) if _spans(loop, each.lineno)]
        if len(earlier) == 1 and not calls(earlier[0], "load"):
            return earlier[0].lineno
    return given.lineno


def _set_in(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements of a loop set, each turn anew; not under an `if`."""
    return {
        target.id
        for each in body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }


def _spans(loop: ast.For | ast.While, line: int) -> bool:
    return loop.lineno < line <= (loop.end_lineno or loop.lineno)


def _used_after(kernel: ast.FunctionDef, loop: ast.For | ast.While, name: str) -> bool:
    end = loop.end_lineno or loop.lineno
    later = [node for node in ast.walk(kernel) if isinstance(node, ast.expr) and node.lineno > end]
    return any(name in names_in(node) for node in later)


CAUSE = Cause(
    name="last_block_kept",
    looks_at="names that begin before a loop, and that each turn sets anew",
    order=44,
    kinds=VALUES,
    explain=explain,
)
