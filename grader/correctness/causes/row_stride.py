"""Rows that begin elsewhere than the kernel takes them to."""

from __future__ import annotations

import re
from dataclasses import replace

from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by what is read between rows; else by a case that differs in the padding alone."""
    for use in sorted(evidence.uses, key=lambda each: not each.writes):
        if use.beside and use.packed:
            return Explanation(
                f"{evidence.quoted(use.line)} takes the rows of {use.argument} to lie side by "
                f"side, and they do not: row i begins at i * {use.argument}.stride(0).",
                use.line,
            )
    if evidence.case is None:
        return None
    case = evidence.case.case
    if not case.pad or case.shape[0] < 2:
        return None
    if not _first_row_is_right(evidence) or evidence.passes(replace(case, pad=0)) is not True:
        return None
    beside = sorted((use for use in evidence.uses if use.beside), key=lambda use: not use.writes)
    frames = evidence.failure.frames
    line = frames[-1].line if frames else beside[0].line if beside else 0
    if not line and evidence.bad:
        line = evidence.line_of(evidence.bad[0])
    said = "The output is right where rows lie side by side, and wrong where they lie apart: "
    name = _gone_astray(evidence) or (beside[0].argument if beside and not frames else "")
    if not name:
        return Explanation(
            f"{said}each argument has a row stride of its own, and its rows begin at multiples of "
            "it.",
            line,
        )
    return Explanation(
        f"{said}{_lower(evidence.quoted(line))} touches memory outside the rows of {name}. Row "
        f"i of {name} begins at i * {name}.stride(0), whatever the strides of other arguments are.",
        line,
    )


def _gone_astray(evidence: Evidence) -> str:
    """Return the argument that the failure's message says was left, or an empty text."""
    names = {argument.name for argument in evidence.spec.arguments}
    found = re.findall(r"\b(?:rows|end|start) of (\w+)", evidence.failure.message)
    return next((name for name in found if name in names), "")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _first_row_is_right(evidence: Evidence) -> bool:
    """Say whether row 0 is right in all outputs: it begins at 0, whatever a stride is."""
    tables = [wrong for wrong in evidence.wrong.values() if wrong.ndim > 1]
    return evidence.failure.kind not in VALUES or not any(bool(each[0].any()) for each in tables)


CAUSE = Cause(
    name="row_stride",
    looks_at="elements between rows that are accessed, and the same case without gaps",
    order=18,
    kinds=(*VALUES, "never_written", "stray_write", "out_of_bounds"),
    explain=explain,
)
