"""An output that the file computes without a kernel."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import last_name, root_of


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.text.launches:
        return None
    outs = {a.name for a in evidence.spec.arguments if a.filled}
    for host in evidence.text.hosts:
        if host.name != evidence.spec.entry:
            continue
        for node in ast.walk(host):
            if isinstance(node, ast.stmt) and _fills(node, outs):
                return Explanation(
                    f"{evidence.quoted(node.lineno)} fills the output on the host, and the file "
                    f"launches no kernel. {evidence.failure.hint or ''}".rstrip(),
                    node.lineno,
                    "no_launch",
                )
    return None


def _fills(statement: ast.stmt, outs: set[str]) -> bool:
    """Say whether a statement stores to an output, or hands one to a function that may do so."""
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, ast.Subscript) and root_of(t) in outs for t in statement.targets)
    if isinstance(statement, ast.AugAssign):
        return root_of(statement.target) in outs
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    method = isinstance(call.func, ast.Attribute) and root_of(call.func) in outs
    passed = any(isinstance(each, ast.Name) and each.id in outs for each in given)
    return method or (passed and last_name(call.func) != "print")


CAUSE = Cause(
    name="nothing_on_the_gpu",
    looks_at="the launches that the file's text has",
    order=60,
    kinds=("no_kernel",),
    explain=explain,
)
