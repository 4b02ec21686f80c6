"""A mask of the lane's number alone, where the address goes on from block to block."""

from __future__ import annotations

import ast

from grader.correctness.addresses import PROGRAM, Term, accesses, bare, compared, terms, text_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned


def explain(evidence: Evidence) -> Explanation | None:
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    kernel = evidence.text.around(line)
    if kernel is None or "past the end" not in evidence.failure.message:
        return None
    for access in accesses(kernel, line):
        for mask in (each.value for each in access.keywords if each.arg == "mask"):
            found = _of_mask(evidence, kernel, access, mask)
            if found is not None:
                return found
    return None


def _of_mask(
    evidence: Evidence, kernel: ast.FunctionDef, access: ast.Call, mask: ast.expr
) -> Explanation | None:
    places = list(compared(kernel, mask))
    address = terms(kernel, access.args[0])
    for place in places:
        [number, *more] = terms(kernel, place.left) or [Term(("",), 0)]
        bound = place.comparators[0]
        if more or not number.lanes or not _is_length(kernel, bound, number.lanes):
            continue
        vector = len(evidence.spec.largest) == 1
        steps = [each for each in address if _goes_on(kernel, each, number.lanes, vector)]
        known = {each.factors for one in places for each in terms(kernel, one.left)}
        if len(steps) != 1 or steps[0].factors in known:
            continue
        if [each.lanes for each in address].count(number.lanes) != 1:
            continue
        lanes = text_of(bare(place.left))
        step = _text_in(kernel, access, steps[0])
        meant = _text_in(kernel, access, number, steps[0]) or f"{step} + {lanes}"
        right = text_of(place.left).replace(lanes, meant, 1)
        other = "" if place.lineno == access.lineno else f" of line {access.lineno}"
        return Explanation(
            f"{evidence.quoted(place.lineno)} compares {lanes}, which begins at 0 in every block. "
            f"The address{other} has {meant}: compare `{right} < {text_of(bound)}`.",
            place.lineno,
            "missing_mask",
        )
    return None


def _is_length(kernel: ast.FunctionDef, bound: ast.expr, lanes: str) -> bool:
    parameters = [each.arg for each in kernel.args.args]
    return isinstance(bound, ast.Name) and bound.id in parameters and bound.id != lanes


def _goes_on(kernel: ast.FunctionDef, term: Term, lanes: str, vector: bool) -> bool:
    """Say whether a term counts blocks of so many lanes: in steps of a loop, or by a product.

    A product may be the begin of a row, unless there are no rows.
    """
    if len(term.factors) == 2 and lanes in term.factors:
        [number] = [each for each in term.factors if each != lanes] or [lanes]
        return vector and (number.startswith(PROGRAM) or bool(_steps(kernel, number)))
    return term.alone is not None and _steps(kernel, term.alone) == {lanes}


def _steps(kernel: ast.FunctionDef, name: str) -> set[str]:
    loops = [each for each in assigned(kernel, name) if isinstance(each, ast.For)]
    ranges = [each.iter for each in loops if isinstance(each.iter, ast.Call)]
    if len(ranges) != len(assigned(kernel, name)):
        return set()
    return {text_of(each.args[2]) if len(each.args) == 3 else "1" for each in ranges}


def _text_in(kernel: ast.FunctionDef, access: ast.Call, *parts: Term) -> str:
    """Return the part of an address that has these terms, in the file's own words, or nothing."""
    wanted = sorted(each.factors for each in parts)
    waiting: list[ast.expr] = [access.args[0]]
    while waiting:
        node = waiting.pop(0)
        if sorted(each.factors for each in terms(kernel, node)) == wanted:
            return text_of(node)
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
    return ""


CAUSE = Cause(
    name="mask_of_lanes",
    looks_at="the comparison in the mask of an access that leads out, and its address",
    order=56,
    kinds=("out_of_bounds", "stray_write"),
    explain=explain,
)
