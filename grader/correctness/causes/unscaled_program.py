"""Blocks that begin one element after each other: a program's number is added to the lanes."""

from __future__ import annotations

import ast

from grader.correctness.addresses import PROGRAM, accesses, arguments_of, terms
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import last_name, names_in


def explain(evidence: Evidence) -> Explanation | None:
    frames = evidence.failure.frames if evidence.failure.kind == "out_of_bounds" else ()
    line = frames[-1].line if frames else 0
    for kernel in evidence.text.kernels:
        for call in accesses(kernel, line):
            parts = terms(kernel, call.args[0])
            numbered = any((part.alone or "").startswith(PROGRAM) for part in parts)
            if not numbered or all(part.lanes is None for part in parts):
                continue
            if last_name(call.func) == "store" and (out := _of_a_number(evidence, kernel, call)):
                return Explanation(
                    f"{evidence.quoted(call.lineno)} stores a block of lanes, and {out} has one "
                    "number for each row: make one of the block first, with tl.sum or tl.max, "
                    "and store it without the lanes.",
                    call.lineno,
                    "formula",
                )
            return Explanation(
                f"{evidence.quoted(call.lineno)} adds the number of the program to that of the "
                "lane, so that blocks begin one element after each other. If each program has "
                "a block of its own, multiply its number by the size of a block; if all lanes "
                "need one element, leave out the lanes.",
                call.lineno,
                "block_index",
            )
    return None


def _of_a_number(evidence: Evidence, kernel: ast.FunctionDef, store: ast.Call) -> str:
    """Return the output of one number a row that a line stores to, or an empty text."""
    for _, _, given in arguments_of(evidence.text, kernel):
        for parameter in names_in(store.args[0]) & set(given):
            name = ast.unparse(given[parameter])
            out = None if evidence.case is None else evidence.case.expected.outputs.get(name)
            if out is not None and out.ndim == len(evidence.main.case.shape) - 1:
                return name
    return ""


CAUSE = Cause(
    name="unscaled_program",
    looks_at="addresses with the number of the program and the lanes, and no factor",
    order=62,
    kinds=(*OUTPUTS, "out_of_bounds", "stray_write"),
    explain=explain,
)
