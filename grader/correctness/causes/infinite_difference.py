"""Lanes that take -inf from -inf: their running maximum begins there, and they see no element."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, calls, last_name, names_in
from grader.correctness.undefined import reaches

LOWEST = "-inf"


def explain(evidence: Evidence) -> Explanation | None:
    """Explain NaN where lanes are left over; rows that fill whole blocks must be right."""
    if not any(reaches(evidence.outputs[name], evidence.wrong[name]) for name in evidence.bad):
        return None
    found = [each for kernel in evidence.text.kernels for each in _differences(kernel)]
    if not found or not _only_short_rows(evidence):
        return None
    name, line = found[0]
    return Explanation(
        f"{evidence.quoted(line)} takes -inf from -inf in lanes that are past the end: that is "
        f"NaN, and it enters the sum. In these lanes {name} is still the -inf that it began with. "
        f"Begin {name} at a finite number, such as -3.4e38, or replace the exponential there with "
        "0 by tl.where, or keep one maximum for all lanes.",
        line,
        "masked_lanes",
        complete=True,
    )


def _differences(kernel: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield each running maximum of lanes, and the line of an exponential it is taken from."""
    for call in calls(kernel, "maximum"):
        both = [each.id for each in call.args if isinstance(each, ast.Name)]
        for kept in [name for name in both if _begins_lowest(kernel, name)]:
            if any(_is_one_number(kernel, each) for each in call.args):
                continue
            newer = set(_names_of(kernel, call))
            lines = [
                each.lineno
                for each in calls(kernel, "exp", "exp2")
                for exponent in each.args[:1]
                if isinstance(exponent, ast.BinOp)
                and isinstance(exponent.op, ast.Sub)
                and names_in(exponent.right) & newer
            ]
            if lines:
                yield kept, min(lines)


def _names_of(kernel: ast.FunctionDef, value: ast.expr) -> Iterator[str]:
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and node.value is value:
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _begins_lowest(kernel: ast.FunctionDef, name: str) -> bool:
    first = getattr(next(iter(assigned(kernel, name)), None), "value", None)
    if not isinstance(first, ast.Call) or last_name(first.func) != "full":
        return False
    return any(isinstance(n, ast.Constant) and n.value == LOWEST for n in ast.walk(first))


def _is_one_number(kernel: ast.FunctionDef, node: ast.expr) -> bool:
    """Say whether an operand is reduced: a maximum of all lanes is no -inf in some of them."""
    given = [node, *(assigned(kernel, node.id) if isinstance(node, ast.Name) else ())]
    return any(calls(each, "max") for each in given)


def _only_short_rows(evidence: Evidence) -> bool:
    case = evidence.main.case
    for lanes in sorted({use.lanes for use in evidence.uses if use.masked and use.reads}):
        whole = -(-case.shape[-1] // lanes) * lanes
        filled = replace(case, shape=(*case.shape[:-1], whole))
        if whole != case.shape[-1] and evidence.passes(filled):
            return True
    return False


CAUSE = Cause(
    name="infinite_difference",
    looks_at="running maxima of lanes that begin at -inf, and rows of whole blocks",
    order=17,
    kinds=("value", "not_finite"),
    explain=explain,
)
