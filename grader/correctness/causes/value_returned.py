"""A result that a function returns, and that nobody gets."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    if not evidence.bad or any(evidence.written(name) is not None for name in evidence.bad):
        return None
    for function in evidence.text.functions:
        entry = function.name == evidence.spec.entry
        device = any("device" in ast.unparse(each) for each in function.decorator_list)
        if device or (not entry and function not in evidence.text.kernels):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and _is_a_result(node.value):
                out = evidence.bad[0]
                return Explanation(
                    f"{evidence.quoted(node.lineno)} returns a value that nobody gets, and no "
                    f"kernel stores to {out}: the result belongs into {out}, whose memory the "
                    "function receives.",
                    node.lineno,
                )
    return None


def _is_a_result(value: ast.expr | None) -> bool:
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)


CAUSE = Cause(
    name="value_returned",
    looks_at="`return` of the entry or of a kernel, where no line stores to an output",
    order=6,
    kinds=("never_written",),
    explain=explain,
)
