"""Wrong kernels made from a right one: small changes of its source, one at a time.

An operator looks at one node of the syntax tree and yields the changes that it knows for it. A
change replaces the text of that node and nothing else: line numbers stay, and reports show the line
as its author wrote it. Nothing is run here.
"""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.authoring.editable import Kernel
from grader.authoring.operators import OPERATORS, Operator

_Place = tuple[int, ...]


@dataclass(frozen=True)
class Mutant:
    """One changed kernel file.

    `line` is the first line of the change, counted from 1. `before` and `after` are the lines that
    change, without their indent, joined by a space.
    """

    operator: str
    line: int
    before: str
    after: str
    source: str


def make(source: str, operators: Sequence[Operator] = OPERATORS) -> tuple[Mutant, ...]:
    """Return every mutant of a kernel file, without those that equal it or an earlier one.

    Formatting makes no difference. Raises SyntaxError when `source` is not Python.
    """
    kernel = Kernel(source)
    nodes = list(_code(kernel.tree))
    seen = set[tuple[_Place, str]]()
    made = []
    for operator in operators:
        for node in nodes:
            for edit in operator(kernel, node):
                changed = kernel.replaced(edit)
                place = _place(kernel.tree, edit.node)
                seen.add((place, _dump(kernel.tree, place)))
                if (tree := (place, _dump(ast.parse(changed), place))) not in seen:
                    seen.add(tree)
                    made.append(_mutant(operator.__name__, source, changed))
    return tuple(sorted(made, key=lambda mutant: mutant.line))


def _place(tree: ast.Module, node: ast.AST) -> _Place:
    """Find the statement of the file that holds a node, and that of its body if it is a function.

    All else is the same in a mutant. To write a whole file's tree takes most of the time.
    """
    found: list[int] = []
    statements: Sequence[ast.stmt] = tree.body
    while len(found) < 2 and (inside := [s for s in statements if _holds(s, node)]):
        found.append(statements.index(inside[0]))
        statements = inside[0].body if isinstance(inside[0], ast.FunctionDef) else ()
    return tuple(found)


def _holds(statement: ast.stmt, node: Any) -> bool:
    begin, end = (statement.lineno, statement.col_offset), _end(statement)
    return begin <= (node.lineno, node.col_offset) and _end(node) <= end


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _dump(tree: ast.Module, place: _Place) -> str:
    one: Any = tree
    for number in place:
        one = one.body[number]
    return ast.dump(one)


def sample(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw `count` of the mutants and keep their order. The same seed draws the same mutants."""
    chosen = random.Random(seed).sample(range(len(mutants)), min(count, len(mutants)))
    return [mutants[n] for n in sorted(chosen)]


def _code(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that run with a kernel: no imports, annotations, defaults or decorators."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement
            for inner in statement.body:
                yield from ast.walk(inner)
        elif isinstance(statement, ast.Assign):
            yield from ast.walk(statement)


def _mutant(operator: str, before: str, after: str) -> Mutant:
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    spans = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    first, last = spans[0], spans[-1]
    return Mutant(
        operator=operator,
        line=first[0] + 1,
        before=" ".join(line.strip() for line in old[first[0] : last[1]]),
        after=" ".join(line.strip() for line in new[first[2] : last[3]]),
        source=after,
    )
