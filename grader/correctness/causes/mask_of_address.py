"""A mask that compares a place in the whole table with the length of a row."""

from __future__ import annotations

import ast

from grader.correctness.addresses import accesses, compared
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.rows import has_rows, without_rows


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        for access in accesses(kernel):
            if not _ends_with_row_0(evidence, access):
                continue
            for mask in (each.value for each in access.keywords if each.arg == "mask"):
                for place in compared(kernel, mask):
                    found = _of_place(evidence, kernel, place)
                    if found is not None:
                        return found
    return None


def _ends_with_row_0(evidence: Evidence, access: ast.Call) -> bool:
    lines = range(access.lineno, (access.end_lineno or access.lineno) + 1)
    marks = [use.marks for use in evidence.uses if use.line in lines]
    return bool(marks) and all(
        each.ndim == 2 and len(each) > 1 and bool(each[0].any()) and not bool(each[1:].any())
        for each in marks
    )


def _of_place(
    evidence: Evidence, kernel: ast.FunctionDef, place: ast.Compare
) -> Explanation | None:
    length = place.comparators[0]
    if not isinstance(length, ast.Name) or not has_rows(kernel, place.left, length.id):
        return None
    in_row = " + ".join(without_rows(kernel, place.left, length.id))
    right = f": `{in_row} < {length.id}`" if in_row else ""
    return Explanation(
        f"{evidence.quoted(place.lineno)} compares places in the whole table with {length.id}, "
        f"the length of a row: only row 0 passes. Compare the place in the row{right}.",
        place.lineno,
        "never_written" if evidence.failure.kind == "never_written" else "never_read",
        complete=True,
    )


CAUSE = Cause(
    name="mask_of_address",
    looks_at="the comparisons in masks, where an access was seen in row 0 alone",
    order=9,
    kinds=OUTPUTS,
    explain=explain,
)
