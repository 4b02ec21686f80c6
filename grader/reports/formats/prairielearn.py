"""PrairieLearn's `/grade/results/results.json`: an exercise a test, the score from 0 to 1.

The contract is docs.prairielearn.com, "External Grading". If anything could not be graded, the
whole is `gradable: false`, which costs the learner no attempt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from grader.model import Attempt, texts
from grader.reports import terminal
from grader.reports.formats import facts

MOST_BYTES = 1_000_000  # of the whole file; PrairieLearn refuses a longer one
_SHORT = 200


def document(attempts: Sequence[Attempt]) -> str:
    """Return the file, with shorter outputs if it would be too long."""
    for most in (20_000, 2_000, _SHORT, 0):
        record = json.dumps(_record(attempts, most), indent=2, ensure_ascii=False)
        text = texts.json_without_commands(record) + "\n"
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _record(attempts: Sequence[Attempt], most: int) -> dict[str, Any]:
    points, best = facts.total(attempts)
    missing = facts.ungraded(attempts)
    notes = [texts.one_line(note) for attempt in attempts for note in attempt.notes]
    if missing or not attempts or not best:
        names = ", ".join(missing) or "Nothing"
        message = f"{names}: {facts.NOT_YOURS}."
        return {
            "gradable": False,
            "message": texts.cut(message, 10_000),
            "output": "\n".join(notes),
        }
    return {
        "gradable": True,
        "score": points / best,
        "message": f"{points} of {best} points",
        "output": texts.cut("\n".join(notes), 10 * most or _SHORT),
        "tests": [_test(attempt, most) for attempt in attempts],
    }


def _test(attempt: Attempt, most: int) -> dict[str, Any]:
    result = attempt.result
    test = {
        "name": texts.one_line(result.exercise, 80),
        "description": texts.one_line(result.title, 80),
        "points": facts.earned(result),
        "max_points": facts.most(result),
        "message": facts.WORDS[result.status],
    }
    if most:
        report = texts.lines(terminal.check_report(result).plain)
        test["output"] = texts.cut(report, most)
    return test
