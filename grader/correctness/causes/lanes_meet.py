"""Lanes of one program that store to one element: past a row's end the next row begins."""

from __future__ import annotations

import ast

from grader.correctness.addresses import LANES, Term, accesses, compared, terms
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.rows import has_rows, without_rows

TWO_LANES = "writes two different values to"


def explain(evidence: Evidence) -> Explanation | None:
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    kernel = evidence.text.around(line)
    if TWO_LANES not in evidence.failure.message or kernel is None:
        return None
    for store in accesses(kernel, line):
        found = _past_the_row(kernel, store)
        if found is not None:
            return found
    return Explanation(
        "Two lanes of one program have the address of this element. Give each element to one lane.",
        line,
        "written_twice",
    )


def _past_the_row(kernel: ast.FunctionDef, store: ast.Call) -> Explanation | None:
    """Explain a tile `row * length + column` whose columns have no mask of their own."""
    address, masks = store.args[0], [each.value for each in store.keywords if each.arg == "mask"]
    lanes = [each for each in terms(kernel, address) if LANES in _kinds(each)]
    lengths = [set(each.factors) for each in lanes if each.lanes is None]
    columns = [each.factors for each in lanes if each.lanes is not None]
    if len(lanes) != 2 or len(columns) != 1 or len(lengths[0]) != 2:
        return None
    [length] = [factor for factor in lengths[0] if not factor.startswith(LANES)] or [""]
    for place in (each for mask in masks for each in compared(kernel, mask)):
        known = [each.factors for each in terms(kernel, place.left)]
        if columns[0] in known and not has_rows(kernel, place.left, length):
            return None  # the columns have a mask of their own
    parameters = [each.arg for each in kernel.args.args]
    parts = [each for each in without_rows(kernel, address, length) if each not in parameters]
    if not masks or not parts or length not in parameters:
        return None
    return Explanation(
        "A lane past the end of its row has an address of the next row: mask by "
        f"`{' + '.join(parts)} < {length}`, too.",
        store.lineno,
        "missing_mask",
    )


def _kinds(term: Term) -> set[str]:
    return {factor.partition(" ")[0] for factor in term.factors}


CAUSE = Cause(
    name="lanes_meet",
    looks_at="the message about two values of one program, the address and the mask of the store",
    order=39,
    kinds=("race",),
    explain=explain,
)
