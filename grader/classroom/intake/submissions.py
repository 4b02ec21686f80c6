"""The submissions of a class: each found, matched with its student, and read.

The time of a submission is what `submitted.csv` says of the entry, or else Gradescope's export, or
else `submitted.csv` of the student. Times of files are not used, for they are those of the
download; nor are those of commits, which students choose.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.classroom.intake import contents, gradescope, names, tables
from grader.classroom.intake.contents import Contents
from grader.classroom.intake.gradescope import Exported
from grader.classroom.intake.names import Match
from grader.classroom.intake.records import HandedIn, Intake, Roster, Student
from grader.classroom.intake.selection import MOST_NAMED, Needs, needs_of
from grader.course import Exercise
from grader.model import UsageError, login_of, quoted, texts, time_key

TIMES = "submitted.csv"
# Names of files among the submissions that are not submissions.
NOT_HANDED_IN = {
    *(TIMES, gradescope.FILE),
    *("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".gitignore"),
}
LONGEST_SLUG = 40  # characters of a login in the name of a folder
_TIME_COLUMNS = ("time", "submittedat", "submitted", "date")
_KEY_COLUMNS = ("login", "username", "student", "submission", "file")


@dataclass(frozen=True)
class Candidate:
    """One submission of one student."""

    place: Path
    match: Match
    submitted_at: str
    student: Student


def take_in(submissions: Path, roster: Roster, exercises: Sequence[Exercise], work: Path) -> Intake:
    """Find the submission of each student, and make a plain folder of it.

    What must be unpacked is written into `work`. A folder that holds the course's folders stays
    where it is. Raises UsageError if `submissions` is not a folder, and CannotGrade if `work`
    cannot be written; a submission that cannot be read raises nothing.
    """
    places, problems = _listed(submissions), list(roster.problems)
    known = names.directory(roster.students)
    named = {login_of(place.name) for place in places}
    times = _times(submissions / TIMES, named | known.logins.keys(), problems)
    exported = gradescope.exported(submissions, known)
    by_team: dict[str, list[Candidate]] = defaultdict(list)
    strangers = []
    matches = names.matches([place.name for place in places], known)
    for place, match in zip(places, matches, strict=True):
        export = exported.get(place.name)
        candidates = _candidates(place, match, export, times)
        for one in candidates:
            by_team[_team(one.student)].append(one)
        if not candidates:
            strangers.append(_stranger(place.name, match.students, export))
    reader = _Reader(needs_of(exercises), work)
    handed_in = tuple(
        _handed_in(one, by_team.get(_team(one), ()), reader) for one in roster.students
    )
    return Intake(handed_in, tuple(strangers), tuple(problems))


def _candidates(
    place: Path, match: Match, export: Exported | None, times: Mapping[str, str]
) -> list[Candidate]:
    """Return the submission for its student, or for each that Gradescope names; or nothing."""
    students: tuple[Student, ...] = match.students if len(match.students) == 1 else ()
    if export is not None:
        students = export.students
    when = times.get(login_of(place.name)) or (export.submitted_at if export else "")
    return [
        Candidate(place, match, when or times.get(login_of(one.login), ""), one) for one in students
    ]


class _Reader:
    """Reads each submission once, however many students of a group it counts for."""

    def __init__(self, needs: Needs, work: Path) -> None:
        self._needs, self._work = needs, work
        self._read: dict[Path, Contents] = {}

    def contents(self, one: Candidate) -> Contents:
        if one.place not in self._read:
            work = self._work / _folder_name(one.place.name)
            self._read[one.place] = contents.read(one.place, self._needs, work, one.match.name)
        return self._read[one.place]


def _folder_name(name: str) -> str:
    """Return a name for a folder that no hostile name changes, and that is the same in each run."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:LONGEST_SLUG].strip("-")
    return f"{slug}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}"


def _listed(submissions: Path) -> list[Path]:
    try:
        places = sorted(submissions.iterdir())
    except OSError as error:
        raise UsageError(
            f"The submissions {submissions} cannot be read: {error.strerror}.",
            "Name the folder that holds a folder, an archive or a file of each student; unpack the "
            "archive that a learning system made of all of them.",
        ) from None
    return [place for place in places if place.name not in NOT_HANDED_IN]


def _times(path: Path, named: Collection[str], problems: list[str]) -> dict[str, str]:
    """Return times by login, or by the name of a submission, from the file beside them.

    `named` are those of this class. Of several times of one the latest counts.
    """
    if not path.exists():
        return {}
    table = tables.read(path)
    problems += (f"{TIMES}: {problem}" for problem in table.problems)
    by_key = {tables.key_of(column): column for column in table.columns}
    whose = next((by_key[key] for key in _KEY_COLUMNS if key in by_key), None)
    when = next((by_key[key] for key in _TIME_COLUMNS if key in by_key), None)
    if whose is None or when is None:
        raise UsageError(
            f"{path} does not say who handed in when.", "Its first line is login,time."
        )
    times: dict[str, str] = {}
    without_zone: list[str] = []
    for row in table.rows:
        written, time = row.cells.get(whose, ""), row.cells.get(when, "").strip()
        key, where = login_of(written), f"{TIMES}, line {row.line:,}"
        if not time_key(time):
            problems.append(f"{where}: {quoted(time)} is not a time in ISO 8601")
        elif key not in named:
            problems.append(
                f"{where}: {quoted(written)} is neither a login of the roster nor a submission: "
                "the line is ignored"
            )
        else:
            if key in times:
                problems.append(f"{where}: {quoted(written)} is there twice: the later time counts")
            if datetime.fromisoformat(time).tzinfo is None:
                without_zone.append(where)
            times[key] = max(times.get(key, ""), time_key(time))
    if without_zone:  # often the whole file
        problems.append(
            f"{without_zone[0]}: a time without a zone is read as UTC (such lines: "
            f"{len(without_zone):,})"
        )
    return times


def _team(student: Student) -> str:
    return f"group {login_of(student.group)}" if student.group else login_of(student.login)


def _stranger(name: str, students: Sequence[Student], export: Exported | None) -> str:
    shown = quoted(name, 100)
    if export is not None:
        people = ", ".join(map(quoted, export.unknown)) or "nobody"
        return (
            f"{shown} is of {people} by {gradescope.FILE}, and the roster has no such student, or "
            "several"
        )
    if not students:
        return f"{shown} is of nobody on the roster: name it after its student's login"
    fitting = ", ".join(quoted(student.login) for student in students[:MOST_NAMED])
    return f"{shown} fits several students ({fitting}): name it after its student's login"


def _handed_in(student: Student, candidates: Sequence[Candidate], reader: _Reader) -> HandedIn:
    if not candidates:
        return HandedIn(student, None, "", "", missing=True)
    last = max(candidates, key=lambda one: (one.submitted_at, one.match.order, one.place.name))
    read = reader.contents(last)
    return HandedIn(
        student,
        read.folder,
        texts.one_line(last.place.name),
        last.submitted_at,
        read.missing,
        read.fault,
        (*_choice(student, last, candidates), *last.match.notes, *read.notes),
    )


def _choice(student: Student, last: Candidate, candidates: Sequence[Candidate]) -> Iterator[str]:
    if login_of(last.student.login) != login_of(student.login):
        yield f"handed in by {quoted(last.student.login)} for the group {quoted(student.group)}"
    others = sorted({one.place.name for one in candidates} - {last.place.name})
    if not others:
        return
    shown = ", ".join(quoted(name) for name in others[:MOST_NAMED])
    more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
    times = [one.submitted_at for one in candidates]
    sure = all(times) and times.count(last.submitted_at) == 1
    why = "is the latest" if sure else f"counts; without {TIMES} the latest is unknown"
    yield f"{quoted(last.place.name)} {why}; also handed in: {shown}{more}"
