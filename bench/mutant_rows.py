"""A row for a mutant: the lines and causes that a report on it may name, read from its change."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from pathlib import Path

from mistakes_table import Row

from grader.authoring.mutants import Mutant

# The cause of each kind of change where it is clear. A mutant of another kind has no cause.
CAUSES = {
    "drop_mask": "missing_mask",
    "drop_other": "masked_lanes",
    "drop_barrier": "race",
    "drop_max_subtraction": "overflow",
    "drop_rescale": "rescale",
    "half_accumulate": "precision",
    "one_off_grid": "off_by_one",
    "one_off_range": "off_by_one",
    "one_off_block": "block_index",
    "one_off_address": "off_by_one",
    "round_down": "tail",
    "change_stride": "row_stride",
}
# Words that are true of such a change as well, beside all that a record of accesses states.
ALSO = {
    "drop_other": {"negative_inputs"},
    "drop_rescale": {"factor", "overflow"},
    "half_accumulate": {"overflow"},
    "one_off_grid": {"tail", "first_block_only"},
    "one_off_range": {"tail", "first_block_only"},
    "one_off_block": {"off_by_one"},
}


def row(exercise: str, kernel: Path, mutant: Mutant, solution: str, stated: frozenset[str]) -> Row:
    """Return the row of a mutant; `stated` are causes that a record of its accesses states.

    `lines` are those that changed.
    """
    cause = CAUSES.get(mutant.operator)
    return Row(
        exercise=exercise,
        kernel=kernel,
        mistake=f"{mutant.operator}: {mutant.before} -> {mutant.after}",
        lines=changed(solution, mutant.source),
        causes=frozenset({cause} if cause else ()),
        also=frozenset(stated | ALSO.get(mutant.operator, set())) - {cause or ""},
        held_out=False,
    )


def changed(before: str, after: str) -> frozenset[int]:
    """Return the numbers of the lines of `after` that differ, and those beside a dropped one."""
    old, new = before.splitlines(), after.splitlines()
    numbers: set[int] = set()
    for tag, _, _, first, last in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            numbers |= set(range(first + 1, last + 1)) or {first, first + 1}
    return frozenset(numbers)


def affected(source: str, lines: frozenset[int]) -> frozenset[int]:
    """Return the lines whose work depends on one of `lines`, these included.

    A statement depends on the lines in it, on the statement that it is in, on the names that those
    set, and on a host function in which a line changed. A barrier orders all of its function, which
    therefore depends on a dropped one.
    """
    functions = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)]
    host = {one.name for one in functions if not one.decorator_list and lines & _span(one)}
    return frozenset(lines).union(*(_affected_in(one, lines, host) for one in functions))


def _span(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or 0) + 1))


def _affected_in(function: ast.FunctionDef, lines: frozenset[int], host: set[str]) -> set[int]:
    own = _span(function)
    if any(isinstance(node, ast.Pass) and node.lineno in lines for node in ast.walk(function)):
        return own
    names = set(host)
    found = set(lines) & own
    size = -1
    while size != len(found):
        size = len(found)
        for statement in _statements(function):
            head = _head(statement)
            if found & head or names & _names(statement, head):
                found |= _span(statement)
                names |= _targets(statement)
    return found


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(function) if isinstance(node, ast.stmt) and node != function)


def _head(statement: ast.stmt) -> set[int]:
    """Return the lines of a statement without those of the statements in it."""
    inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
    end = min((node.lineno - 1 for node in inner), default=statement.end_lineno or 0)
    return set(range(statement.lineno, max(end, statement.lineno) + 1))


def _names(statement: ast.stmt, head: set[int]) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and n.lineno in head}


def _targets(statement: ast.stmt) -> set[str]:
    """Return the variables and arrays that a statement and those in it set."""
    return {
        name.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.For)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Del)
    }
