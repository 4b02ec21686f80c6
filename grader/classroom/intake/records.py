"""Students, and the submission of each that counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Student:
    """One row of a roster. Students of one `group` hand in together."""

    login: str  # as the roster spells it; `model.login_of` compares
    name: str = ""
    email: str = ""
    section: str = ""
    group: str = ""
    due: str = ""  # this student's own deadline, ISO 8601; empty for the class's
    ids: Mapping[str, str] = field(default_factory=dict, hash=False)  # further columns, by heading


@dataclass(frozen=True)
class Roster:
    """The students of a class, and a sentence for each line with something odd."""

    students: tuple[Student, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class HandedIn:
    """The submission that counts for one student.

    `folder` is one that `classroom.plan` accepts. It is None where the student handed in nothing
    (`missing`), and where nothing could be read (`fault` says why).
    """

    student: Student
    folder: Path | None
    place: str  # where it was found, for people: `ada.zip`
    submitted_at: str  # UTC, ISO 8601; empty where nothing says so
    missing: bool = False
    fault: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Intake:
    """One HandedIn for each student, in the roster's order.

    `strangers` has a sentence for each submission of nobody on the roster.
    """

    handed_in: tuple[HandedIn, ...]
    strangers: tuple[str, ...]
    problems: tuple[str, ...]
