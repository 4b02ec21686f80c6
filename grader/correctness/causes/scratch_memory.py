"""Memory that a call takes beside its arguments."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import last_name, mentions

MAKERS = (
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"),
    *("device_array", "device_array_like", "to_device"),
)
COPIES = ("clone", "float", "contiguous", "copy")  # methods of an array


def explain(evidence: Evidence) -> Explanation | None:
    made = [
        node
        for host in evidence.text.hosts
        for node in ast.walk(host)
        if isinstance(node, ast.Call) and _makes_memory(node)
    ]
    if made:  # an array as long as an input is more than one with a number for each block
        return _explanation(evidence, min(made, key=lambda call: not _is_as_long(call)).lineno)
    entry = [host for host in evidence.text.hosts if host.name == evidence.spec.entry]
    names = {a.name for a in evidence.spec.arguments if a.role != "scalar"}
    for host in entry:  # an expression of whole tensors makes a new one
        for node in ast.walk(host):
            if isinstance(node, ast.BinOp) and all(
                isinstance(side, ast.Name) and side.id in names for side in (node.left, node.right)
            ):
                return _explanation(evidence, node.lineno)
    return None


def _makes_memory(call: ast.Call) -> bool:
    """Say whether a call makes an array; one of a fixed size is too small to matter."""
    if last_name(call.func) in COPIES:
        return isinstance(call.func, ast.Attribute) and not call.args
    if last_name(call.func) not in MAKERS:
        return False
    return not call.args or not _is_fixed(call.args[0])


def _is_as_long(call: ast.Call) -> bool:
    own = last_name(call.func)
    return own.endswith("_like") or own in COPIES or mentions(call, "size", "shape", "numel")


def _is_fixed(size: ast.expr) -> bool:
    parts = size.elts if isinstance(size, ast.Tuple) else [size]
    return all(isinstance(each, ast.Constant) for each in parts)


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
