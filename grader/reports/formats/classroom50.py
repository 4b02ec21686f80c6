"""Classroom 50's `result.json`, `classroom50/result/v1`: whole points, an exercise a test.

The contract is schemas/result-v1.schema.json of github.com/foundation50/classroom50. If anything
could not be graded, this module makes no file: the runner then reports an error and no score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from grader.classroom import CLASSROOM50
from grader.model import Attempt, Status, texts
from grader.reports.formats import facts
from grader.reports.formats.apportion import scaled


def document(
    attempts: Sequence[Attempt],
    identity: Mapping[str, str],
    submitted_at: str,
    graded_at: str,
    out_of: int | None = None,
) -> str | None:
    """Return the file, or None if anything could not be graded.

    `identity` holds the fields of ci_systems.CLASSROOM50, and may hold `username`, the account that
    pushed. Times are ISO 8601 in UTC. With `out_of`, points are scaled to that sum.
    """
    if not attempts or facts.ungraded(attempts):
        return None
    results = [attempt.result for attempt in attempts]
    points, most = [facts.earned(r) for r in results], [facts.most(r) for r in results]
    if out_of is not None:
        points, most = scaled(points, most, out_of)
    record: dict[str, Any] = {
        "schema": "classroom50/result/v1",
        **{field: identity[field] for field in CLASSROOM50},
        "datetime": _zulu(submitted_at),
        "graded_at": _zulu(graded_at),
        "score": sum(points),
        "max-score": sum(most),
        "tests": [
            _test(attempt, score, best)
            for attempt, score, best in zip(attempts, points, most, strict=True)
        ],
    }
    if username := identity.get("username"):
        record["submitted_by"] = {"username": username}
    return texts.json_without_commands(json.dumps(record, indent=2, ensure_ascii=False)) + "\n"


def _test(attempt: Attempt, score: int, best: int) -> dict[str, Any]:
    result = attempt.result
    test: dict[str, Any] = {
        "test-name": texts.one_line(result.exercise) or "?",
        "passed": result.status is Status.PASS,
        "score": score,
        "max-score": best,
        "status": result.status.value,
        "message": facts.reason(result),
    }
    timed = facts.speed(result)
    if timed is not None and timed.speed is not None:
        test["share-of-ceiling"] = round(timed.speed.share, 4)
    if attempt.notes:
        test["notes"] = [texts.one_line(note) for note in attempt.notes]
    return test


def _zulu(time: str) -> str:
    """Write an ISO 8601 time in UTC as `2026-06-01T14:32:01Z`."""
    return f"{time[:19]}Z"
