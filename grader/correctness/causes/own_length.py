"""Rows of a table that begin elsewhere than a row's length says, by the factor of an index."""

from __future__ import annotations

import ast

from grader.correctness.addresses import (
    PROGRAM,
    accesses,
    arguments_of,
    bounds,
    extent_of,
    is_last,
    terms,
)
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls


def explain(evidence: Evidence) -> Explanation | None:
    """Explain addresses of a table whose index is multiplied by the length that limits it.

    The mask says which length limits an index; the launch says which of the two is a row's.
    """
    frames = evidence.failure.frames
    for kernel in evidence.text.kernels:
        known = bounds(kernel)
        for call in accesses(kernel, frames[-1].line if frames else 0):
            found = _own(kernel, call, known)
            if found is None:
                if fixed := _of_fixed_length(evidence, kernel, call, known):
                    return fixed
                continue
            index, other, line = found
            last = _is_last(evidence, kernel, known[index])
            if last is not None:
                return _explanation(evidence, index, other, known, line, last)
    return None


def _own(
    kernel: ast.FunctionDef, call: ast.Call, known: dict[str, str]
) -> tuple[str, str, int] | None:
    """Return an index that its own limit multiplies, the other index, and the line."""
    parts = terms(kernel, call.args[0], known)
    pairs = [(set(part.factors), part.line) for part in parts if len(part.factors) == 2]
    alone = {part.factors[0] for part in parts if len(part.factors) == 1}
    for index, limit in known.items():
        others = [other for other in alone & set(known) if known[other] != limit]
        for factors, line in pairs:
            if factors == {index, limit} and len(others) == 1:
                return index, others[0], line
    return None


def _of_fixed_length(
    evidence: Evidence, kernel: ast.FunctionDef, call: ast.Call, known: dict[str, str]
) -> Explanation | None:
    """Explain a stride of rows that is a number or a block's size, in place of their length."""
    if len(evidence.spec.largest) != 2:
        return None
    parts = terms(kernel, call.args[0], known)
    columns = [known[part.alone] for part in parts if part.alone in known]
    sizes = {ast.unparse(each.args[-1]) for each in calls(kernel, "arange") if len(each.args) == 2}
    for part in parts:
        if len(columns) != 1 or len(part.factors) != 2:
            continue
        index, factor = sorted(part.factors, key=lambda f: f.isdigit() or f in sizes)
        numbered = index.startswith(PROGRAM) or known.get(index) not in (None, columns[0])
        if numbered and (factor in sizes or (factor.isdigit() and int(factor) > 1)):
            return Explanation(
                f"{evidence.quoted(part.line)} lets rows begin {factor} elements apart, and a row "
                f"is as long as {columns[0]} says: element (r, c) of a table lies at "
                f"r * {columns[0]} + c.",
                part.line,
                "row_stride",
            )
    return None


def _is_last(evidence: Evidence, kernel: ast.FunctionDef, parameter: str) -> bool | None:
    """Say whether a parameter is the number of columns (True) or of rows (False) of a table."""
    for _, host, given in arguments_of(evidence.text, kernel):
        if parameter in given:
            return is_last(extent_of(evidence.text, given[parameter], host), 2)
    return None


def _explanation(
    evidence: Evidence, index: str, other: str, known: dict[str, str], line: int, last: bool
) -> Explanation:
    limit, right = known[index], known[other]
    if last:
        return Explanation(
            f"{evidence.quoted(line)} multiplies {index} by {limit}, and {index} is below {limit}: "
            f"element (r, c) of a table lies at r * {limit} + c. Are {other} and {index} "
            "exchanged?",
            line,
            "transposed",
        )
    return Explanation(
        f"{evidence.quoted(line)} multiplies {index} by {limit}, and rows lie as far apart as a "
        f"row is long: element (r, c) of a table lies at r * {right} + c.",
        line,
        "row_stride",
    )


CAUSE = Cause(
    name="own_length",
    looks_at="the factors of an address, the masks of its indices, and the launch's arguments",
    order=16,
    kinds=(*VALUES, "never_written", "out_of_bounds", "stray_write", "race"),
    explain=explain,
)
