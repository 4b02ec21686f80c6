"""A running sum that is multiplied by the inverse of the right factor, as the text shows it."""

from __future__ import annotations

import ast

from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, calls, last_name, names_in


def explain(evidence: Evidence) -> Explanation | None:
    """Explain an exponential of `new - old`, where new is a maximum that old takes part in."""
    for kernel in evidence.text.kernels:
        for call in calls(kernel, "exp", "exp2"):
            exponent = call.args[0] if call.args else None
            if not isinstance(exponent, ast.BinOp) or not isinstance(exponent.op, ast.Sub):
                continue
            divides = any(
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and node.right is call
                for node in ast.walk(kernel)
            )
            new, old = exponent.left, exponent.right
            if divides:
                new, old = old, new
            if (
                isinstance(new, ast.Name)
                and isinstance(old, ast.Name)
                and _is_maximum_of(kernel, new.id, old.id)
                and not _is_maximum_of(kernel, old.id, new.id)
            ):
                return Explanation(
                    f"{evidence.quoted(call.lineno)} makes the sum larger when the maximum grows, "
                    "and infinite in the first block. It must shrink: multiply it by "
                    f"exp({old.id} - {new.id}).",
                    call.lineno,
                )
    return None


def _is_maximum_of(kernel: ast.FunctionDef, name: str, part: str) -> bool:
    """Say whether a name is assigned a larger one of two, of which `part` is one."""
    return any(
        last_name(call.func) in ("maximum", "max", "fmax")
        and any(isinstance(each, ast.Name) and each.id == part for each in call.args)
        for statement in assigned(kernel, name)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and part in names_in(call)
    )


CAUSE = Cause(
    name="rescale",
    looks_at="exponents that are a new maximum less the old one",
    order=19,
    kinds=VALUES,
    explain=explain,
)
