"""Blocks that begin as far apart as another number says than they have lanes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import PROGRAM, terms
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name, names_in


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        for step, lanes, line, what in (*_of_programs(kernel), *_of_turns(kernel)):
            if step != lanes and _are_sizes(step, lanes):
                return Explanation(
                    f"{evidence.quoted(line)} lets {what} begin {step} after the one before, "
                    f"and a block has {lanes} lanes: should the two be the same?",
                    line,
                    "block_index",
                )
    return None


def _are_sizes(one: str, other: str) -> bool:
    """Say whether both are numbers, or both names of sizes: of a mixed pair nothing is known."""
    return (one.isdigit() and other.isdigit()) or (one.isupper() and other.isupper())


def _of_programs(kernel: ast.FunctionDef) -> Iterator[tuple[str, str, int, str]]:
    """Yield the factor of each `program number * factor + lanes` in a kernel.

    Each comes with the number of lanes, the line and a name for the message.
    """
    for node in ast.walk(kernel):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = terms(kernel, node)
            lanes = [part.lanes for part in parts if part.lanes is not None]
            numbered = [part for part in parts if len(part.factors) == 2]
            if len(parts) == 2 and len(lanes) == len(numbered) == 1:
                first, second = sorted(
                    numbered[0].factors, key=lambda each: not each.startswith(PROGRAM)
                )
                if first.startswith(PROGRAM):
                    yield second, lanes[0], node.lineno, "each program's block"


def _of_turns(kernel: ast.FunctionDef) -> Iterator[tuple[str, str, int, str]]:
    """Yield the step of a loop over range(...), where only lanes are added to the loop variable.

    Each comes with the number of lanes, the line and a name for the message.
    """
    for loop in (node for node in ast.walk(kernel) if isinstance(node, ast.For)):
        call = loop.iter
        if not isinstance(call, ast.Call) or last_name(call.func) != "range":
            continue
        if not isinstance(loop.target, ast.Name) or len(assigned(kernel, loop.target.id)) != 1:
            continue
        step = ast.unparse(call.args[2]) if len(call.args) == 3 else "1"
        for node in (n for each in loop.body for n in ast.walk(each)):
            if isinstance(node, ast.BinOp) and loop.target.id in names_in(node):
                parts = terms(kernel, node, (loop.target.id,))
                alone = {part.alone for part in parts}
                lanes = [part.lanes for part in parts if part.lanes is not None]
                if loop.target.id in alone and len(lanes) == 1 and len(parts) == 2:
                    yield step, lanes[0], loop.lineno, "each turn's block"


CAUSE = Cause(
    name="block_step",
    looks_at="the factor of a program's number, or the step of a loop, and the number of lanes",
    order=57,
    kinds=(*OUTPUTS, "out_of_bounds", "race"),
    explain=explain,
)
