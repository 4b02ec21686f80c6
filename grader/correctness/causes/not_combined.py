"""A thread's own part, taken for that of its block: nobody calls the function that combines."""

from __future__ import annotations

import ast

from grader.correctness.addresses import depends_on
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, last_name

BARRIER = "syncthreads"


def explain(evidence: Evidence) -> Explanation | None:
    text = evidence.text
    launched = [kernel for kernel in text.kernels if _is_launched(evidence, kernel)]
    if any(calls(kernel, BARRIER) or _has_a_whole_loop(kernel) for kernel in launched):
        return None  # it may combine by itself, or each thread may need no others
    for function in text.functions:
        if calls(function, BARRIER) and not _is_named(evidence, function):
            return Explanation(
                f"No line calls {function.name}, of line {function.lineno}. Without it, each "
                "thread knows only what it computed from its own elements, and not what the other "
                "threads of the block have."
            )
    return None


def _is_launched(evidence: Evidence, kernel: ast.FunctionDef) -> bool:
    return any(
        isinstance(launch.func, ast.Subscript) and last_name(launch.func.value) == kernel.name
        for launch in evidence.text.launches
    )


def _has_a_whole_loop(kernel: ast.FunctionDef) -> bool:
    loops = [node.iter for node in ast.walk(kernel) if isinstance(node, ast.For)]
    return any(not depends_on(kernel, each, "threadIdx", "grid") for each in loops)


def _is_named(evidence: Evidence, function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == function.name for node in evidence.text.nodes
    )


CAUSE = Cause(
    name="not_combined",
    looks_at="functions with a barrier that no line calls, beside kernels without one",
    order=46,
    kinds=(
        "value",
        "rounding",
        "rms",
        "never_written",
    ),  # a sum of a part overflows no more than all
    explain=explain,
)
