"""An output that the file computes without a kernel."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.text.launches:
        return None
    outs = {a.name for a in evidence.spec.arguments if a.filled}
    for host in evidence.text.hosts:
        if host.name != evidence.spec.entry:
            continue
        for node in ast.walk(host):
            if isinstance(node, ast.Expr | ast.Assign) and outs & {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name)
            }:
                return Explanation(
                    f"{evidence.quoted(node.lineno)} fills the output on the host, and the file "
                    f"launches no kernel. {evidence.failure.hint or ''}".rstrip(),
                    node.lineno,
                    "no_launch",
                )
    return None


CAUSE = Cause(
    name="nothing_on_the_gpu",
    looks_at="the launches that the file's text has",
    order=60,
    kinds=("no_kernel",),
    explain=explain,
)
