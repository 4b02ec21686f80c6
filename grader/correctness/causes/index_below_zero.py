"""An index below 0, which counts from the end of an array."""

from __future__ import annotations

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.thread_work import first_suspect
from grader.model import index_of


def explain(evidence: Evidence) -> Explanation | None:
    first = None if evidence.traced is None else first_suspect(evidence.traced, evidence.wrong)
    if evidence.traced is None or first is None:
        return None
    *_, number, place, kind, line, _ = first
    used = evidence.traced.arrays[number]
    index = ", ".join(map(str, index_of(place, used.shape)))
    verb = ("reads", "writes", "updates")[kind]
    return Explanation(
        f"{evidence.quoted(line)} uses an index below 0, which counts from the end: it {verb} "
        f"{used.name}[{index}]. Is an `if` missing there, or wrong, or a sign?",
        line,
        "missing_mask",
    )


CAUSE = Cause(
    name="index_below_zero",
    looks_at="the accesses of threads by an index below 0 on which a wrong element may depend",
    order=55,
    explain=explain,
)
