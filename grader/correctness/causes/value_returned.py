"""A result that a function returns or a line computes, and that nobody gets."""

from __future__ import annotations

import ast
import re

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import last_name, mentions, names_in, root_of

# Calls that change none of their arguments, so that without its result a call does nothing.
PURE = re.compile(
    r"shfl(_\w+)?_sync|ballot_sync|fma|popc|clz|where|sum|max|min|maximum|minimum|argmax|argmin|"
    r"exp2?|log2?|r?sqrt|sigmoid|softmax|abs|cumsum|dot|trans|reshape|broadcast_to|zeros|full|load|"
    r"to|cast|flip|sort|cdiv|float\d+|int\d+"
)


def explain(evidence: Evidence) -> Explanation | None:
    return _thrown_away(evidence) or _returned(evidence)


def _thrown_away(evidence: Evidence) -> Explanation | None:
    helpers = {f.name for f in evidence.text.functions if _only_returns(f)}
    for kernel in evidence.text.kernels:
        for node in ast.walk(kernel):
            if not isinstance(node, ast.Expr):
                continue
            value = node.value
            quoted = evidence.quoted(node.lineno)
            if isinstance(value, ast.Call) and _is_pure(value, helpers):
                said = (
                    f"{quoted} returns its result, and changes none of its arguments: here nobody "
                    "gets the result. Assign it to a variable, or use it in an expression."
                )
            elif isinstance(value, ast.BinOp):
                said = f"{quoted} computes a value, and nobody gets it. Assign it to a variable."
            elif isinstance(value, ast.Compare) and isinstance(value.left, ast.Subscript):
                said = f"{quoted} compares and stores nothing: `==` asks, and `=` assigns."
            else:
                continue
            return Explanation(said, node.lineno, complete=True)
    return None


def _is_pure(call: ast.Call, helpers: set[str]) -> bool:
    if isinstance(call.func, ast.Name) and call.func.id in helpers:
        return True
    return bool(PURE.fullmatch(last_name(call.func))) and not mentions(call.func, "atomic")


def _only_returns(function: ast.FunctionDef) -> bool:
    """Say whether a function returns a value and stores to none of its parameters."""
    nodes = list(ast.walk(function))
    changed = set[str]()
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            changed.add(root_of(node))
        elif isinstance(node, ast.Call) and not _is_pure(node, set()):
            changed |= names_in(node)
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    return any(map(_is_a_result, returned)) and not changed & {a.arg for a in function.args.args}


def _returned(evidence: Evidence) -> Explanation | None:
    if evidence.failure.kind != "never_written":
        return None
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
                    f"kernel stores to {out}: the result belongs in {out}, whose memory the "
                    "function receives.",
                    node.lineno,
                )
    return None


def _is_a_result(value: ast.expr | None) -> bool:
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)


CAUSE = Cause(
    name="value_returned",
    looks_at="`return` where no line stores to an output, and statements that only compute a value",
    order=6,
    kinds=OUTPUTS,
    explain=explain,
)
