"""A block that is reduced along axis 0, where each lane is to be compared with the number 0."""

from __future__ import annotations

import ast

from grader.correctness.addresses import accesses
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name

LANE_BY_LANE = {"max": ("maximum", "larger"), "min": ("minimum", "smaller")}


def explain(evidence: Evidence) -> Explanation | None:
    for use in evidence.uses:
        kernel = evidence.text.around(use.line)
        if kernel is None or not use.writes or use.lanes == 1 or use.argument not in evidence.bad:
            continue
        for call in (_stored(kernel, each) for each in accesses(kernel, use.line)):
            name = "" if call is None else last_name(call.func)
            if call is None or _has_a_table(kernel) or not _ends_at_0(evidence, use.argument, name):
                continue
            own, which = LANE_BY_LANE[name]
            code = ast.unparse(call)
            return Explanation(
                f"The 0 in {code} of line {call.lineno} is an axis: it makes one number of the "
                f"block. The {which} of each lane and 0 is tl.{own}(x, 0.0).",
                call.lineno,
                "formula",
            )
    return None


def _stored(kernel: ast.FunctionDef, store: ast.Call) -> ast.Call | None:
    value = store.args[1] if last_name(store.func) == "store" and len(store.args) > 1 else None
    if isinstance(value, ast.Name):
        given = assigned(kernel, value.id)
        value = getattr(given[0], "value", None) if len(given) == 1 else None
    match value:
        case ast.Call(args=[_, ast.Constant(value=int(axis))], keywords=[]) if axis == 0:
            return value if last_name(value.func) in LANE_BY_LANE else None
    return None


def _has_a_table(kernel: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)
        for node in ast.walk(kernel)
    )


def _ends_at_0(evidence: Evidence, output: str, name: str) -> bool:
    sign = 1 if name == "max" else -1
    right = [each.expected.outputs[output] * sign for each in evidence.witnesses]
    return all(bool((each >= 0).all()) for each in right) and any(
        bool((each == 0).any()) for each in right
    )


CAUSE = Cause(
    name="axis_for_number",
    looks_at="reductions along axis 0 whose one number all lanes store",
    order=9,
    kinds=OUTPUTS,
    explain=explain,
)
