"""The systems that `grader ci` runs in: each names the student and the time of submission."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from grader.model import UsageError, is_future, quoted, utc

AUTOGRADER = Path("/autograder")  # where Gradescope puts everything
# A login of a class, or an e-mail address. It has no line break, and begins no formula.
LOGIN = re.compile(r"\w[\w.+@'-]{0,99}")
# Field of Classroom 50's result.json: the variable in which its runner gives it.
CLASSROOM50 = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}


class System(StrEnum):
    """The system that runs the command."""

    GITHUB = "github"
    CLASSROOM50 = "classroom50"
    GITLAB = "gitlab"
    GRADESCOPE = "gradescope"
    SHELL = "shell"

    @property
    def takes_submissions(self) -> bool:
        # They come from the student, with nobody between.
        return self in (System.CLASSROOM50, System.GRADESCOPE)


@dataclass(frozen=True)
class Place:
    """The place where the command runs, and the facts that it provides.

    `reports` are those that this system reads. `student` and `submitted_at` (UTC, ISO 8601) are
    empty where they are unknown. `identity` holds Classroom 50's fields; its `username`
    is the student who pushed.
    """

    system: System
    reports: tuple[str, ...] = ()
    student: str = ""
    submitted_at: str = ""
    identity: Mapping[str, str] = field(default_factory=dict)


def place(environ: Mapping[str, str], gradescope: str | None = None) -> Place:
    """Decide from the variables; `gradescope` is the text of its submission_metadata.json, or None.

    It is None outside of Gradescope.
    """
    on_github = environ.get("GITHUB_ACTIONS") == "true"
    actor = environ.get("GITHUB_ACTOR", "")
    if on_github and environ.get("CLASSROOM") and environ.get("SUBMISSION_TAG"):
        identity = {name: environ.get(variable, "") for name, variable in CLASSROOM50.items()}
        identity["owner"] = identity["owner"] or environ.get("USERNAME", "")
        return Place(
            System.CLASSROOM50,
            ("classroom50=result.json", "github"),
            student=identity["owner"],
            submitted_at=_time_of_tag(identity["submission"]),
            identity=identity | {"username": actor},
        )
    if on_github:
        return Place(System.GITHUB, ("github",), student=actor)
    if environ.get("GITLAB_CI"):
        return Place(
            System.GITLAB,
            ("gitlab",),
            student=environ.get("GITLAB_USER_LOGIN", ""),
            submitted_at=_utc_or_empty(environ.get("CI_PIPELINE_CREATED_AT", "")),
        )
    if gradescope is not None:
        student, submitted_at = _of_gradescope(gradescope)
        results = AUTOGRADER / "results" / "results.json"
        return Place(System.GRADESCOPE, (f"gradescope={results}",), student, submitted_at)
    return Place(System.SHELL)


def _time_of_tag(tag: str) -> str:
    # Such as `submit/2026-06-01T14-32-05Z-a1b2c3d`.
    parts = re.match(r"submit/(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z", tag)
    return _utc_or_empty("{}T{}:{}:{}Z".format(*parts.groups())) if parts else ""


def _of_gradescope(metadata: str) -> tuple[str, str]:
    """Return student and time; of a group, the first student that Gradescope lists."""
    try:
        submission = json.loads(metadata)
        users = submission.get("users") or [{}]
        created_at = _utc_or_empty(str(submission.get("created_at") or ""))
        return str(users[0].get("email") or ""), created_at
    except (ValueError, AttributeError, LookupError, TypeError):
        return "", ""


def _utc_or_empty(time: str) -> str:
    try:
        return utc(time).isoformat(timespec="seconds")
    except ValueError:
        return ""


def submission_time(given: str | None, place: Place, now: datetime) -> str:
    """Return the given time of submission, or this place's, or now: UTC, ISO 8601.

    Raises UsageError for a given text that is not a time, or one in the future.
    """
    if given is None:
        return place.submitted_at or _utc_or_empty(now.isoformat())
    if not (time := _utc_or_empty(given)):
        raise UsageError(
            f"--submitted-at {given!r} is not a time.", "Write it as 2026-11-20T10:00:00+00:00."
        )
    if is_future(utc(time), now):
        raise UsageError(
            f"--submitted-at {given} is in the future: a clock is wrong, here or where it was set.",
            "Give the time of submission: boards and exports take no attempt from the future.",
        )
    return time


def student(given: str | None, place: Place, submission: Path | None) -> str:
    """Return the student's login; empty where it is unknown. Raises UsageError for no login.

    If GitHub or GitLab grades somebody else's repository, the one who started it is not the
    student.
    """
    if given is not None:
        if not LOGIN.fullmatch(given):
            raise UsageError(
                f"--student {quoted(given)} is not a login.",
                "A login begins with a letter, a digit or _, and has at most 100 of these and "
                ". - + @ '.",
            )
        return given
    starts_others = place.system in (System.GITHUB, System.GITLAB)
    return "" if submission is not None and starts_others else place.student
