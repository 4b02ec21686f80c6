"""A file for GitLab CI beside JUnit's XML: variables for later jobs, for `reports: dotenv`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model import Attempt, Status
from grader.reports.formats import facts


def dotenv(
    attempts: Sequence[Attempt], require_started: bool = False, unchanged: bool = False
) -> str:
    """Return variables: numbers and one word, and no text that anybody else wrote.

    GRADER_STATUS is pass or fail of what is started, not_started if nothing is, or not_graded if
    any exercise could not be graded. With `require_started` what is not started fails. It is
    unchanged if nothing was graded for that reason.
    """
    points, most = facts.total(attempts)
    passed = sum(attempt.result.status is Status.PASS for attempt in attempts)
    missing = facts.not_started(attempts)
    status = "pass" if attempts and passed == len(attempts) else "fail"
    if missing and not require_started and passed + missing == len(attempts):
        status = "pass" if passed else "not_started"
    if not attempts or facts.ungraded(attempts):
        status = "unchanged" if unchanged and not attempts else "not_graded"
    values = {
        "GRADER_STATUS": status,
        "GRADER_SCORE": points,
        "GRADER_MAX_SCORE": most,
        "GRADER_PASSED": passed,
        "GRADER_EXERCISES": len(attempts),
        "GRADER_NOT_STARTED": missing,
        "GRADER_NOT_GRADED": len(facts.ungraded(attempts)),
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
