"""An output that a line reads, or adds to, before anything was stored there."""

from __future__ import annotations

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    outs = {a.name for a in evidence.spec.arguments if a.role == "out"}
    early = [use for use in evidence.uses if use.argument in outs and use.unset]
    for use in sorted(early, key=lambda each: each.kind == "read"):
        if use.argument not in evidence.bad or not _matters(evidence, use.argument):
            continue
        verb = "adds to" if use.kind == "update" else "reads"
        return Explanation(
            f"{evidence.quoted(use.line)} {verb} {use.argument}, which nothing had written yet: an "
            "output begins with arbitrary values. Store the result alone, or set the output to 0 "
            "first, in an earlier launch.",
            use.line,
            "accumulates_previous",
        )
    return None


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
