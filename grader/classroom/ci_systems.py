"""The systems that `grader ci` runs in, and what each tells of who handed in, and when."""

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
# A name as classes use it, an e-mail address, too. No line ends in it, and no formula begins so.
LOGIN = re.compile(r"\w[\w.+@'-]{0,99}")
# What Classroom 50's runner tells: field of its result.json, and variable.
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
    """What runs the command."""

    GITHUB = "github"
    CLASSROOM50 = "classroom50"
    GITLAB = "gitlab"
    GRADESCOPE = "gradescope"
    SHELL = "shell"

    @property
    def takes_submissions(self) -> bool:
        """Whether what is handed in comes from the student, with nobody between."""
        return self in (System.CLASSROOM50, System.GRADESCOPE)


@dataclass(frozen=True)
class Place:
    """Where the command runs, and what is known there.

    `reports` are those that this system reads. `student` and `submitted_at` (UTC, ISO 8601) are
    empty where nobody says. `identity` holds Classroom 50's fields and `username`, who pushed.
    """

    system: System
    reports: tuple[str, ...] = ()
    student: str = ""
    submitted_at: str = ""
    identity: Mapping[str, str] = field(default_factory=dict)


def place(environ: Mapping[str, str], gradescope: str | None = None) -> Place:
    """Decide from the variables; `gradescope` is the text of its submission_metadata.json.

    None says that there is no folder of Gradescope's.
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
            submitted_at=_utc(environ.get("CI_PIPELINE_CREATED_AT", "")),
        )
    if gradescope is not None:
        student, submitted_at = _of_gradescope(gradescope)
        results = AUTOGRADER / "results" / "results.json"
        return Place(System.GRADESCOPE, (f"gradescope={results}",), student, submitted_at)
    return Place(System.SHELL)


def _time_of_tag(tag: str) -> str:
    """The time in a tag such as `submit/2026-06-01T14-32-05Z-a1b2c3d`."""
    found = re.match(r"submit/(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z", tag)
    return _utc("{}T{}:{}:{}Z".format(*found.groups())) if found else ""


def _of_gradescope(metadata: str) -> tuple[str, str]:
    """Who handed in, and when. Of a group it is the first one, as Gradescope lists them."""
    try:
        told = json.loads(metadata)
        users = told.get("users") or [{}]
        return str(users[0].get("email") or ""), _utc(str(told.get("created_at") or ""))
    except (ValueError, AttributeError, LookupError, TypeError):
        return "", ""


def _utc(time: str) -> str:
    """An ISO 8601 time in UTC, to the second; empty for what is none."""
    try:
        return utc(time).isoformat(timespec="seconds")
    except ValueError:
        return ""


def submission_time(given: str | None, place: Place, now: datetime) -> str:
    """When it was handed in: as told, as this place knows, else now.

    Raises UsageError for what is told and is no time, or is yet to come.
    """
    if given is None:
        return place.submitted_at or _utc(now.isoformat())
    if not (time := _utc(given)):
        raise UsageError(
            f"--submitted-at {given!r} is no time.", "Write it as 2026-11-20T10:00:00+00:00."
        )
    if is_future(utc(time), now):
        raise UsageError(
            f"--submitted-at {given} is yet to come: a clock is wrong, here or where it was made.",
            "Say when it was handed in: neither a board nor an export takes what is yet to come.",
        )
    return time


def student(given: str | None, place: Place, submission: Path | None) -> str:
    """Whose kernels they are; empty where nobody says. Raises UsageError for what is no login.

    Where GitHub or GitLab runs somebody else's repository, whoever started that is not the student.
    """
    if given is not None:
        if not LOGIN.fullmatch(given):
            raise UsageError(
                f"--student {quoted(given)} is no login.",
                "A login begins with a letter, a digit or _, and has at most 100 of these and "
                ". - + @ '.",
            )
        return given
    starts_others = place.system in (System.GITHUB, System.GITLAB)
    return "" if submission is not None and starts_others else place.student
