"""An output that a line reads, or adds to, before anything was stored there."""

from __future__ import annotations

import ast

from grader.correctness.addresses import LONGEST, text_of
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.deciding.further import around
from grader.correctness.evidence import Evidence
from grader.correctness.source import statement_at


def explain(evidence: Evidence) -> Explanation | None:
    outs = {a.name for a in evidence.spec.arguments if a.role == "out"}
    early = [use for use in evidence.uses if use.argument in outs and use.unset]
    for use in sorted(early, key=lambda each: each.kind == "read"):
        if use.argument not in evidence.bad or not _matters(evidence, use.argument):
            continue
        hint = _of_update(evidence, use.line, use.argument)
        if hint is None:
            verb = "adds to" if use.kind == "update" else "reads"
            hint = (
                f"{evidence.quoted(use.line)} {verb} {use.argument}, which nothing had written "
                "yet: an output begins with arbitrary values. Store the result alone, or set the "
                "output to 0 first, in an earlier launch."
            )
        message = evidence.failure.message.replace(
            "was never written", f"depends on what {use.argument} held before the call"
        )
        return Explanation(hint, use.line, "accumulates_previous", message, complete=True)
    return None


def _of_update(evidence: Evidence, line: int, name: str) -> str | None:
    """Explain a line such as `out[0] += x`; None for any other line."""
    kernel = evidence.text.around(line)
    update = None if kernel is None else statement_at(kernel, line)
    if kernel is None or not isinstance(update, ast.AugAssign):
        return None
    if not isinstance(update.target, ast.Subscript):
        return None
    target, value = text_of(update.target), text_of(update.value)
    operator = text_of(update)[len(target) :].split()[0]
    said = (
        f"{evidence.quoted(line)} reads what {name} held before, for `{operator}` needs the old "
        "value. Nobody wrote that: an output begins with arbitrary values. "
    )
    if any(isinstance(each, ast.For | ast.While) for each in around(kernel, update)):
        return f"{said}Begin a variable of the thread at 0, add to that, and store it once."
    if _by_all_threads(kernel, update, update.target.slice):
        return (
            f"{said}All threads that run this line use that one element. Put the value of each "
            "thread into shared memory. Combine the values there, and let one thread store the "
            "result."
        )
    alone = f": `{target} = {value}`" if len(value) < LONGEST else ""
    return f"{said}Store the result alone{alone}."


def _by_all_threads(kernel: ast.FunctionDef, update: ast.stmt, index: ast.expr) -> bool:
    """Say whether no index and no condition with == tells the threads apart."""
    chosen = [
        node
        for head in around(kernel, update)
        if isinstance(head, ast.If)
        for node in ast.walk(head.test)
        if isinstance(node, ast.Eq)
    ]
    return not chosen and isinstance(index, ast.Constant)


def _matters(evidence: Evidence, name: str) -> bool:
    """Say whether a wrong element shows what the output held before: that is new in each call.

    What begins as NaN stays NaN. An output of other numbers that comes out alike twice does not
    depend on it.
    """
    output, wrong = evidence.outputs[name], evidence.wrong[name]
    if evidence.again is None or bool(output.isnan()[wrong].any()):
        return True
    return bool(evidence.changes(name)[wrong].any())


CAUSE = Cause(
    name="unwritten_read",
    looks_at="the lines that read an output before any line has written to it",
    order=9,
    kinds=OUTPUTS,
    explain=explain,
)
