"""Threads that return before a barrier or a shuffle, which the others still need."""

from __future__ import annotations

import ast
from dataclasses import replace

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import Source, calls, rounded_down

# Parts of the messages about what threads leave out that have ended.
ENDED = ("threads had ended before", "that lane never calls it")


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        meetings = _meetings(evidence.text, kernel)
        for line in _conditional_returns(kernel):
            later = [meeting for meeting in meetings if meeting.lineno > line]
            if later and _matters(evidence, kernel):
                return _explanation(evidence, line, later[0])
    return None


def _matters(evidence: Evidence, kernel: ast.FunctionDef) -> bool:
    if evidence.case is not None:
        return _only_incomplete_blocks(evidence)
    lines = range(kernel.lineno, (kernel.end_lineno or 0) + 1)
    inside = any(frame.line in lines for frame in evidence.failure.frames)
    return inside and any(each in evidence.failure.message for each in ENDED)


def _only_incomplete_blocks(evidence: Evidence) -> bool:
    """Say whether the kernel is right where each thread has an element; then none returns.

    A number of blocks that is rounded down looks alike.
    """
    launches = () if evidence.traced is None else evidence.traced.launches
    side = max((size for launch in launches for size in launch.block), default=1)
    case = evidence.main.case
    whole = tuple(-(-length // side) * side for length in case.shape)
    if whole == case.shape or any(rounded_down(each) for each in evidence.text.functions):
        return False
    return evidence.passes(replace(case, shape=whole)) is True


def _explanation(evidence: Evidence, line: int, meeting: ast.Call) -> Explanation:
    what, of = "barrier", "thread of the block"
    if _is_shuffle(meeting):
        what, of = "shuffle", "lane of the warp"
    return Explanation(
        f"{evidence.quoted(line)} ends threads before the {what} at line {meeting.lineno} "
        f"({evidence.text.text(meeting.lineno)}), and their part is missing there. "
        f"Every {of} must reach the {what}: write no `return` before it, put an `if` around the "
        "loads and stores alone, and let the other threads bring a value that changes nothing.",
        line,
        "barrier_in_branch",
        complete=True,
    )


def _is_shuffle(meeting: ast.Call) -> bool:
    return "shfl" in ast.unparse(meeting.func)


def _meetings(source: Source, kernel: ast.FunctionDef) -> list[ast.Call]:
    """Return the calls of a kernel at which threads meet, themselves or in a function they call."""
    helpers = [f.name for f in source.functions if f is not kernel and _own_meetings(f)]
    found = _own_meetings(kernel) + calls(kernel, *helpers)
    return sorted(found, key=lambda call: call.lineno)


def _own_meetings(function: ast.FunctionDef) -> list[ast.Call]:
    shuffles = ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
    return calls(function, "syncthreads", *shuffles)


def _conditional_returns(kernel: ast.FunctionDef) -> list[int]:
    return sorted(
        node.lineno
        for branch in ast.walk(kernel)
        if isinstance(branch, ast.If)
        for node in ast.walk(branch)
        if isinstance(node, ast.Return)
    )


CAUSE = Cause(
    name="early_return",
    looks_at="`return` before a barrier, threads that have ended, and cases of whole blocks",
    order=8,
    kinds=(*OUTPUTS, "uninitialised", "divergent_shuffle"),
    explain=explain,
)
