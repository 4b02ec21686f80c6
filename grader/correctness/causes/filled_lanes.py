"""Lanes past the end that `other=` fills with a value that takes part in the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.fills import Entry, harmful, needed
from grader.correctness.source import rounded_down
from grader.correctness.uses import Use
from grader.model import Case

MIXED, LOW = "rows", "sunken"  # draws of both signs, and of rows in which a 0 is the maximum


def explain(evidence: Evidence) -> Explanation | None:
    """Explain rows that are right where they fill whole blocks, and wrong short of it.

    A loop that leaves out the last block looks alike: then a quotient is rounded down.
    """
    filled = [
        use
        for use in evidence.uses
        if use.kind == "read" and use.masked and "other=" in evidence.text.text(use.line)
    ]
    if not filled or any(rounded_down(each) for each in evidence.text.functions):
        return None
    entries = [each for kernel in evidence.text.kernels for each in harmful(kernel)]
    entered = next((e for e in entries if e.load in {use.line for use in filled}), None)
    if entered is None and all("inf" in evidence.text.text(use.line) for use in filled):
        return None
    for lanes in sorted({use.lanes for use in filled}):
        if _only_short_rows(evidence, lanes):
            line = filled[0].line if entered is None else entered.load
            summed = _exponentials(entries, entered)
            said = _said(evidence, filled[0], entered, summed, lanes)
            return Explanation(said, line, "masked_lanes")
    return None


def _exponentials(entries: Sequence[Entry], entered: Entry | None) -> Entry | None:
    """Return the sum that the exponentials of lanes enter which have entered a maximum."""
    if entered is None or entered.reduction != "maximum":
        return None
    same = [each for each in entries if each.load == entered.load and each.reduction == "sum"]
    return next((each for each in same if each.value != each.filled), None)


def _said(
    evidence: Evidence, use: Use, entered: Entry | None, summed: Entry | None, lanes: int
) -> str:
    found = (
        f"The output is right where rows fill whole blocks of {lanes:,}, and wrong where lanes "
        "are left over. "
    )
    if entered is None:
        return found + (
            f"{evidence.quoted(use.line)} fills those with `other=`, and they enter the "
            'result: a sum needs 0 there, and a maximum float("-inf"), whose exponential is 0.'
        )
    where = f"at line {entered.line} ({evidence.text.text(entered.line)})"
    fill = f"{evidence.quoted(entered.load)} fills those, and they enter the {entered.reduction}"
    if entered.reduction == "sum" and entered.value != entered.filled:
        return found + f'{fill} {where}: give `other=float("-inf")`, whose exponential adds 0.'
    if summed is not None:
        return found + (
            f"{fill} at line {entered.line} and the sum at line {summed.line}: give "
            '`other=float("-inf")`, which changes no maximum, and whose exponential adds 0.'
        )
    return found + (
        f"{fill} {where}, which they must not change: give `other={needed(entered.reduction)}`, "
        "or replace them there with tl.where."
    )


def _only_short_rows(evidence: Evidence, lanes: int) -> bool:
    """Say whether rows of whole blocks are right, and shorter ones wrong."""
    case = evidence.main.case
    whole = -(-case.shape[-1] // lanes) * lanes
    mixed = [draw for draw in (MIXED,) if draw in evidence.spec.draws]
    if whole != case.shape[-1] and all(
        evidence.passes(_like(case, whole, draw)) for draw in dict.fromkeys((case.draw, *mixed))
    ):
        return True
    draws = [draw for draw in dict.fromkeys((case.draw, LOW)) if draw in evidence.spec.draws]
    return any(
        evidence.passes(_like(case, whole - lanes // 2, draw)) is False
        and evidence.passes(_like(case, whole, draw)) is True
        for draw in draws
    )


def _like(case: Case, columns: int, draw: str) -> Case:
    return replace(case, shape=(*case.shape[:-1], columns), draw=draw)


CAUSE = Cause(
    name="filled_lanes",
    looks_at="loads with other=, the reductions that they enter, and rows of whole blocks",
    order=22,
    kinds=("value", "not_finite", "rms"),
    explain=explain,
)
