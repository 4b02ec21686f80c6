"""Lanes past the end that `other=` fills with a value that takes part in the result."""

from __future__ import annotations

from dataclasses import replace

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import rounded_down

LOW = ("sunken",)  # draws of rows far below 0, in which a 0 is the maximum


def explain(evidence: Evidence) -> Explanation | None:
    """Explain rows that are right where they fill whole blocks, and wrong half a block short of it.

    A loop that leaves out the last block looks alike: then a quotient is rounded down.
    """
    filled = [
        use
        for use in evidence.uses
        if use.kind == "read" and use.masked and _fills(evidence.text.text(use.line))
    ]
    if not filled or any(rounded_down(each) for each in evidence.text.functions):
        return None
    case = evidence.main.case
    for lanes in sorted({use.lanes for use in filled}):
        whole = -(-case.shape[-1] // lanes) * lanes
        if not any(_matter(evidence, whole, lanes, draw) for draw in {case.draw, *LOW}):
            continue
        line = filled[0].line
        return Explanation(
            f"The output is right where rows fill whole blocks of {lanes:,}, and wrong where lanes "
            f"are left over. {evidence.quoted(line)} fills those with `other=`, and they enter the "
            'result: a sum needs 0 there, and a maximum float("-inf"), whose exponential is 0.',
            line,
            "masked_lanes",
        )
    return None


def _matter(evidence: Evidence, whole: int, lanes: int, draw: str) -> bool:
    """Say whether rows are right where they fill whole blocks, and wrong half a block before."""
    case = evidence.main.case
    full, short = (
        replace(case, shape=(*case.shape[:-1], columns), draw=draw)
        for columns in (whole, whole - lanes // 2)
    )
    known = draw in evidence.spec.draws
    return known and evidence.passes(short) is False and evidence.passes(full) is True


def _fills(text: str) -> bool:
    return "other=" in text and "inf" not in text


CAUSE = Cause(
    name="filled_lanes",
    looks_at="loads with other=, and the same case with rows of whole blocks",
    order=22,
    kinds=("value", "not_finite", "rms"),
    explain=explain,
)
