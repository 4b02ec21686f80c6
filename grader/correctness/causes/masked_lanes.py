"""Lanes that a load masks off without `other=`, whose undefined values reached an output."""

from __future__ import annotations

from grader.correctness.addresses import ALIKE, loads_alike
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.undefined import explain_origin, reaches

UNWRITTEN = "unwritten_read"


def explain(evidence: Evidence) -> Explanation | None:
    for origin in evidence.origins:
        output = evidence.outputs.get(origin.output)
        bad = evidence.wrong.get(origin.output)
        if output is None or bad is None or not reaches(output, bad):
            continue
        hint, line = explain_origin(origin, evidence.source)
        if not origin.combined and loads_alike(evidence.text.around(line), line):
            hint += f" Line {line} {ALIKE}"
        return Explanation(hint, line, UNWRITTEN if origin.array else "")
    return None


CAUSE = Cause(
    name="masked_lanes",
    looks_at="the loads whose undefined values reached a wrong output",
    order=10,
    kinds=OUTPUTS,
    explain=explain,
)
