"""Outputs of which exactly the first block is right."""

from __future__ import annotations

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.gaps import ask_about_first_block


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.traced is None or len(evidence.traced.launches) != 1:
        return None
    for name in evidence.bad:
        asked = ask_about_first_block(name, ~evidence.wrong[name], evidence.traced.launches[0])
        if asked is not None:
            return Explanation(asked, evidence.line_of(name))
    return None


CAUSE = Cause(
    name="block_index",
    looks_at="the right elements, compared with those of the first block",
    order=65,
    explain=explain,
)
