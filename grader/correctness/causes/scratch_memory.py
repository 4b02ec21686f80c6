"""Memory that a call takes beside its arguments."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import last_name

MAKERS = (
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"),
    *("clone", "device_array", "device_array_like", "to_device", "float", "contiguous", "copy"),
)


def explain(evidence: Evidence) -> Explanation | None:
    for host in evidence.text.hosts:
        for node in ast.walk(host):
            if isinstance(node, ast.Call) and last_name(node.func) in MAKERS:
                return _explanation(evidence, node.lineno)
    entry = [host for host in evidence.text.hosts if host.name == evidence.spec.entry]
    names = {a.name for a in evidence.spec.arguments if a.role != "scalar"}
    for host in entry:  # an expression of whole tensors makes a new one
        for node in ast.walk(host):
            if isinstance(node, ast.BinOp) and all(
                isinstance(side, ast.Name) and side.id in names for side in (node.left, node.right)
            ):
                return _explanation(evidence, node.lineno)
    return Explanation(evidence.failure.hint or "")


def _explanation(evidence: Evidence, line: int) -> Explanation:
    return Explanation(
        f"{evidence.quoted(line)} takes memory that grows with the input. "
        f"{evidence.failure.hint or ''}".rstrip(),
        line,
    )


CAUSE = Cause(
    name="scratch_memory",
    looks_at="the calls of the file that allocate memory",
    order=60,
    kinds=("memory",),
    explain=explain,
)
