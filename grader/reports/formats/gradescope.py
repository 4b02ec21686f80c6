"""Gradescope's `results.json`: an exercise a test, all visible.

The contract is gradescope-autograders.readthedocs.io, "Autograder Specifications". A hidden test
would hide the total, too. An exercise that could not be graded has a text and no score.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from grader.model import Attempt, Status, texts
from grader.reports import terminal
from grader.reports.formats import facts

MOST_OUTPUT = 20_000  # characters of one test


def document(attempts: Sequence[Attempt]) -> str:
    record: dict[str, Any] = {
        "output": _heading(attempts),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(number, attempt) for number, attempt in enumerate(attempts, 1)],
    }
    if board := [entry for attempt in attempts for entry in _leaderboard(attempt)]:
        record["leaderboard"] = board
    return texts.json_without_commands(json.dumps(record, indent=2, ensure_ascii=False)) + "\n"


def _heading(attempts: Sequence[Attempt]) -> str:
    lines = [f"{facts.sum_of(attempts)}."]
    if missing := facts.ungraded(attempts):
        lines += [
            f"{', '.join(missing)}: {facts.NOT_YOURS}. It has no score yet; tell your teacher."
        ]
    lines += [texts.one_line(note) for attempt in attempts for note in attempt.notes]
    return "\n".join(lines)


def _test(number: int, attempt: Attempt) -> dict[str, Any]:
    result = attempt.result
    name = texts.one_line(f"{result.exercise}: {result.title}")
    report = texts.cut(texts.lines(terminal.check_report(result).plain), MOST_OUTPUT)
    test: dict[str, Any] = {"name": name, "number": str(number), "visibility": "visible"}
    if not facts.graded(result):
        return test | {"output": f"This exercise {facts.NOT_YOURS}.\n\n{report}"}
    return test | {
        "score": facts.earned(result),
        "max_score": facts.most(result),
        "status": "passed" if result.status is Status.PASS else "failed",
        "output": report,
    }


def _leaderboard(attempt: Attempt) -> list[dict[str, Any]]:
    """Return the share of the ceiling of a kernel that passed on a GPU, and nothing for others."""
    timed = facts.speed(attempt.result)
    if timed is None or timed.speed is None:
        return []
    name = texts.one_line(f"{attempt.result.exercise}, % of the ceiling")
    return [{"name": name, "value": round(100 * timed.speed.share, 1), "order": "desc"}]
