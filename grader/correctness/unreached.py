"""Addresses that are the same in every program or turn, and loops that end a block early."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import Tensor

from grader.correctness.addresses import (
    PROGRAM,
    accesses,
    arguments_of,
    depends_on,
    extent_of,
    is_last,
    terms,
    text_of,
)
from grader.correctness.evidence import Evidence
from grader.correctness.reason import Reason, programs_of
from grader.correctness.source import calls, draws_tickets, lines_with, names_in


def _accesses_of(evidence: Evidence, name: str) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    for line in sorted({use.line for use in evidence.uses if use.argument == name}):
        kernel = evidence.text.around(line)
        if kernel is not None and evidence.traced is None:
            yield from ((kernel, call) for call in accesses(kernel, line))


def number_in_no_address(evidence: Evidence, name: str) -> Reason | None:
    """Explain elements that are left out because all programs go to the same addresses."""
    found = list(_accesses_of(evidence, name))
    if programs_of(evidence) < 2 or not found:
        return None
    if any(depends_on(kernel, call.args[0], "program_id") for kernel, call in found):
        return None
    if draws_tickets(evidence.text):
        return None
    kernel, call = found[0]
    row = _row_of_program(evidence, kernel, name)
    if row is not None:
        return Reason(
            "program_id_unused",
            f"every program goes to row 0, for the address lacks the number of the program: add "
            f"{row}.",
            call.lineno,
        )
    lanes = [line for line in lines_with(kernel, "arange") if line <= call.lineno]
    return Reason(
        "program_id_unused",
        f"the address at line {call.lineno} has no number of a program in it, so that every "
        "program goes to the same elements: where does the kernel multiply tl.program_id by the "
        "size of a block, or by the length of a row?",
        lanes[-1] if lanes else call.lineno,
    )


def _row_of_program(evidence: Evidence, kernel: ast.FunctionDef, name: str) -> str | None:
    """Return what to add to an address, where each program has a row and all were seen in row 0."""
    marks = [use.marks for use in evidence.uses if use.argument == name]
    rows = {len(each) for each in marks if each.ndim == 2 and not bool(each[1:].any())}
    if len(rows) != 1 or programs_of(evidence) not in rows:
        return None
    numbers = [
        target.id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
        and [(each.alone or "").partition(" ")[0] for each in terms(kernel, target)] == [PROGRAM]
    ]
    if len(numbers) != 1:
        return None
    for _, host, given in arguments_of(evidence.text, kernel):
        for parameter, argument in given.items():
            extent = extent_of(evidence.text, argument, host)
            length = extent is not None and extent[0] == name and is_last(extent, 2)
            if length or text_of(argument) == f"{name}.stride(0)":
                return f"`{numbers[0]} * {parameter}`"
    return f"{numbers[0]} times the length of a row"


def turn_in_no_address(evidence: Evidence, name: str) -> Reason | None:
    """Explain elements that are left out because each turn of a loop goes to the same addresses."""
    for kernel, call in _accesses_of(evidence, name):
        for loop in (node for node in ast.walk(kernel) if isinstance(node, ast.For)):
            if not loop.lineno < call.lineno <= (loop.end_lineno or 0):
                continue
            moved = [n for n in ast.walk(loop) if isinstance(n, ast.AugAssign)]
            names = names_in(loop.target).union(*(names_in(each.target) for each in moved))
            if not depends_on(kernel, call.args[0], *names):
                turn = ast.unparse(loop.target)
                return Reason(
                    "block_index",
                    f"the address does not depend on `{turn}`, so that each turn of the loop goes "
                    "to the same elements?",
                    call.lineno,
                )
    return None


def unused_turn(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain a loop whose turns all use the same elements, for nothing in it asks for the turn."""
    for node in () if kernel is None else ast.walk(kernel):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            used = {name for each in node.body for name in names_in(each)}
            if node.target.id not in used:
                return Reason(
                    "block_index",
                    f"the loop's `{node.target.id}` is not used, so that each turn does the same "
                    "elements?",
                    node.body[0].lineno,
                )
    return None


def ends_a_block_early(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain a loop that ends one step before the length: `range(0, n - BLOCK, BLOCK)`."""
    for node in () if kernel is None else ast.walk(kernel):
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        given = node.iter.args
        end = given[1] if len(given) == 3 else None
        if not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Sub):
            continue
        if ast.unparse(end.right) == ast.unparse(given[2]):
            return Reason(
                "tail",
                f"the loop ends {ast.unparse(end.right)} before the length, and leaves out the "
                "last block: its end is the length, for the mask keeps away what is too much.",
                node.lineno,
            )
    return None


def whole_blocks_only(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain an `if` around a store that only whole blocks get through: `start + B <= n`."""
    for node in () if kernel is None else ast.walk(kernel):
        if isinstance(node, ast.If) and _asks_for_a_whole_block(node.test) and _stores_in(node):
            return Reason(
                "tail",
                f"`{ast.unparse(node.test)[:60]}` lets only whole blocks through, and leaves out "
                "the last, shorter one: store each element that is inside, whatever its block.",
                node.lineno,
            )
    return None


def _asks_for_a_whole_block(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    left, right = test.left, test.comparators[0]
    if not isinstance(test.ops[0], ast.LtE) or not isinstance(right, ast.Name | ast.Attribute):
        return False
    size = left.right if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) else None
    if isinstance(size, ast.Constant):
        return isinstance(size.value, int) and size.value > 1
    return isinstance(size, ast.Name) and size.id.isupper()


def _stores_in(node: ast.If) -> bool:
    parts = [part for each in node.body for part in ast.walk(each)]
    return any(
        isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) for part in parts
    ) or any(calls(each, "store") for each in node.body)
