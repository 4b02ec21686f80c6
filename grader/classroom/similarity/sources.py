"""The files of a class that are compared: of a folder of submissions, or of a graded class."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.classroom.ci_targets import plan
from grader.classroom.intake.records import Intake, Roster, Student
from grader.classroom.intake.roster import read_roster
from grader.classroom.intake.submissions import take_in
from grader.classroom.similarity.records import Source
from grader.classroom.similarity.symbols import LONGEST
from grader.course import Exercise
from grader.model import UsageError, login_of

_ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".git", ".py")


def taken_in(
    submissions: Path, roster: Path | None, exercises: Sequence[Exercise], work: Path
) -> Intake:
    """Read the submissions of a class; without a roster, each entry of the folder is a student.

    Raises UsageError and CannotGrade, as `take_in` does.
    """
    known = read_roster(roster) if roster is not None else _roster_of(submissions)
    return take_in(submissions, known, exercises, work)


def _roster_of(submissions: Path) -> Roster:
    try:
        names = sorted(entry.name for entry in os.scandir(submissions))
    except OSError as error:
        raise UsageError(
            f"{submissions} cannot be read: {error.strerror}.",
            "Name the folder of the submissions, or the one that `grader grade` made.",
        ) from None
    logins = {_login(name) for name in names if not name.startswith((".", "_"))}
    return Roster(tuple(Student(login) for login in sorted(logins)), ())


def _login(name: str) -> str:
    ending = next((one for one in _ENDINGS if name.endswith(one)), "")
    return name.removesuffix(ending)


def sources(intake: Intake, exercises: Sequence[Exercise]) -> Iterator[Source]:
    """Yield the kernel files of all students; one that cannot be graded is left out."""
    for one in intake.handed_in:
        if one.folder is None:
            continue
        team = f"group {login_of(one.student.group)}" if one.student.group else ""
        try:
            targets = plan(exercises, one.folder)
        except UsageError:  # none of the course's exercises is in it
            continue
        for target in targets:
            if target.refused is None and (text := _text(target.kernel)) is not None:
                yield Source(one.student.login, target.exercise.name, text, team)


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(len(codecs.BOM_UTF8) + LONGEST + 1)
            return content.decode("utf-8-sig", errors="replace")
    except OSError:
        return None
