"""A call that launched no kernel."""

from __future__ import annotations

import ast

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import grid_lines, root_of, rounded_down


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.launches is None or not evidence.text.kernels:
        return None
    if idle := _idle_brackets(evidence):
        return Explanation(
            f"{evidence.quoted(idle)} has the brackets of a launch and no call: the arguments "
            "follow in parentheses, kernel[…](…).",
            idle,
        )
    if evidence.launches:
        return None
    if evidence.text.launches and any(
        line in grid_lines(evidence.text)
        for function in evidence.text.hosts
        for line in rounded_down(function)
    ):
        return None  # the grid is empty: the number of blocks is rounded down to 0
    if evidence.text.launches:
        written = evidence.text.launches[-1].lineno
        return Explanation(
            f"{evidence.quoted(written)} started nothing: its grid is empty for this case, or the "
            "call ends before it gets there.",
            written,
        )
    kernel = evidence.text.kernels[-1]
    return Explanation(
        f"The call launched no kernel, so that {kernel.name} never ran. A launch has brackets and "
        f"parentheses: {kernel.name}[…](…).",
        _line(evidence),
    )


def _idle_brackets(evidence: Evidence) -> int:
    """Return a line with a kernel's brackets that nobody calls, or 0."""
    names = {kernel.name for kernel in evidence.text.kernels}
    called = {id(launch.func) for launch in evidence.text.launches}
    for host in evidence.text.hosts:
        launches = [
            node
            for node in ast.walk(host)
            if isinstance(node, ast.Subscript) and root_of(node.value) in names
        ]
        bound = {
            target.id
            for node in ast.walk(host)
            if isinstance(node, ast.Assign) and node.value in launches
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        used = {root_of(node.func) for node in ast.walk(host) if isinstance(node, ast.Call)}
        for node in launches:
            if id(node) not in called and not bound & used:
                return node.lineno
    return 0


def _line(evidence: Evidence) -> int:
    """Return the line with a kernel's brackets and no call, or the entry's own."""
    names = {kernel.name for kernel in evidence.text.kernels}
    for number, text in enumerate(evidence.source, 1):
        if any(f"{name}[" in text for name in names):
            return number
    entry = [f for f in evidence.text.hosts if f.name == evidence.spec.entry]
    return entry[0].body[-1].lineno if entry else 0


CAUSE = Cause(
    name="no_launch",
    looks_at="the launches of the call",
    order=5,
    kinds=OUTPUTS,
    explain=explain,
)
