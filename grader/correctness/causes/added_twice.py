"""The begin of a block that an address contains twice."""

from __future__ import annotations

import ast

from grader.correctness.addresses import PROGRAM, Term, accesses, terms
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, names_in


def explain(evidence: Evidence) -> Explanation | None:
    frames = evidence.failure.frames
    for kernel in evidence.text.kernels:
        for call in accesses(kernel, frames[-1].line if frames else 0):
            twice = _twice(terms(kernel, call.args[0]))
            if twice is not None:
                line = _added_at(kernel, call)
                return Explanation(
                    f"{evidence.quoted(line)} adds {_product(twice)} twice: an index already has "
                    "the begin of its block in it.",
                    line,
                    "block_index",
                )
    return None


def _twice(parts: list[Term]) -> Term | None:
    seen: set[tuple[str, ...]] = set()
    for part in parts:
        factors = tuple(sorted(part.factors))
        if any(each.startswith(PROGRAM) for each in factors):
            if factors in seen:
                return part
            seen.add(factors)
    return None


def _product(term: Term) -> str:
    axis = f"{PROGRAM} "
    return " * ".join(
        f"tl.program_id({each.removeprefix(axis)})" if each.startswith(axis) else each
        for each in term.factors
    )


def _added_at(kernel: ast.FunctionDef, call: ast.Call) -> int:
    """Return the line that makes the sum with both terms: of a name in the address, or its own."""
    line, node = call.lineno, call.args[0]
    while True:
        found = [
            given[0]
            for name in sorted(names_in(node))
            for given in [assigned(kernel, name)]
            if len(given) == 1
            and isinstance(given[0], ast.Assign)
            and _twice(terms(kernel, given[0].value)) is not None
        ]
        if not found or found[0].lineno >= line:
            return line
        line, node = found[0].lineno, found[0].value


CAUSE = Cause(
    name="added_twice",
    looks_at="the terms of an address that contain a program's number",
    order=15,
    kinds=(*VALUES, "never_written", "out_of_bounds", "stray_write", "race"),
    explain=explain,
)
