"""A loop that may not end, of a kernel that took too long."""

from __future__ import annotations

import ast

from grader.correctness.deciding.further import Further
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, names_in


def endless_loop(evidence: Evidence) -> tuple[int, str]:
    """Return the line of the file's only `while`, and a question about its end; 0 for another.

    It is for a kernel that took too long.
    """
    loops = [
        (kernel, node)
        for kernel in evidence.text.kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.While)
    ]
    if len(loops) != 1:
        return 0, ""
    [(kernel, loop)] = loops
    steps = [
        each
        for name in sorted(names_in(loop.test))
        for each in assigned(kernel, name)
        if loop.lineno < each.lineno <= (loop.end_lineno or 0)
    ]
    asked = Further(loop.lineno, "Does the loop of {} end?").text(evidence)
    if not steps:
        return loop.lineno, f"{asked} Nothing in it changes what it asks for."
    step = Further(steps[0].lineno, "{} changes what it asks for.").text(evidence)
    return loop.lineno, f"{asked} {step}"
