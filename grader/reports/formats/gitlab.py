"""A file for GitLab CI beside JUnit's XML: variables for later jobs, for `reports: dotenv`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model import Attempt, Status
from grader.reports.formats import facts


def dotenv(attempts: Sequence[Attempt]) -> str:
    """Return variables: numbers and one word, and no text that anybody else wrote.

    GRADER_STATUS is pass, fail, or not_graded if any exercise could not be graded.
    """
    points, most = facts.total(attempts)
    passed = sum(attempt.result.status is Status.PASS for attempt in attempts)
    status = "pass" if attempts and passed == len(attempts) else "fail"
    if not attempts or facts.ungraded(attempts):
        status = "not_graded"
    values = {
        "GRADER_STATUS": status,
        "GRADER_SCORE": points,
        "GRADER_MAX_SCORE": most,
        "GRADER_PASSED": passed,
        "GRADER_EXERCISES": len(attempts),
        "GRADER_NOT_GRADED": len(facts.ungraded(attempts)),
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
