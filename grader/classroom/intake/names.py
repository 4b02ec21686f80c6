"""Find the student of a submission by its name, as people, GitHub, Canvas and Moodle write it.

A name that fits several students finds none of them: a guess would grade one student's work as
another's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.classroom.intake import archives, tables
from grader.classroom.intake.records import Student
from grader.model import login_of

SUFFIXES = (*archives.SUFFIXES, ".git", ".py")
# Canvas: `lovelaceada_LATE_1234_5678_kernel.py`; the numbers are the user's and the file's.
# A stranger chose the file's own name: it is not searched for logins.
_CANVAS = re.compile(
    r"(?P<who>[^_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>\d+)_(?P<name>.+)", re.S
)
# Moodle: `Ada Lovelace_123456_assignsubmission_file_`, a folder or the beginning of a file's name.
# What was typed into a box of the page lies in a folder with `onlinetext` instead.
_MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<user>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<name>.*))?",
    re.DOTALL,
)
# Ends of the headings, by `tables.key_of`, of columns that name a student. A column of points or
# years does not.
_NAMING = (
    *("id", "number", "identifier", "participant", "user", "username", "login", "github"),
    *("gitlab", "email", "mail"),
)
_PARTICIPANT = re.compile(r"participant (?=\d+$)")


@dataclass(frozen=True)
class Match:
    """The students whom a name fits; only a name that fits one belongs to somebody.

    Of several submissions of one student whose times are unknown, that with the largest `order`
    counts. `name` is the file's own, without what a learning system puts before it.
    """

    students: tuple[Student, ...]
    name: str
    order: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    prefix: str = field(default="", repr=False)


@dataclass(frozen=True)
class Directory:
    """The students by what may name them."""

    logins: Mapping[str, Student]
    ids: Mapping[str, tuple[Student, ...]]  # by e-mail address and by each further column
    names: Mapping[str, tuple[Student, ...]]


def directory(students: Sequence[Student]) -> Directory:
    ids: dict[str, dict[str, Student]] = defaultdict(dict)
    names: dict[str, dict[str, Student]] = defaultdict(dict)
    for student in students:
        for value in (student.email, *identifiers(student.ids)):
            if key := _PARTICIPANT.sub("", login_of(value)):
                ids[key][student.login] = student
        for key in _spellings(student.name):
            names[key][student.login] = student
    return Directory(
        {login_of(student.login): student for student in students},
        {key: tuple(found.values()) for key, found in ids.items()},
        {key: tuple(found.values()) for key, found in names.items()},
    )


def identifiers(ids: Mapping[str, str]) -> list[str]:
    """Return the cells that name a student, of the further columns of a roster."""
    return [cell for heading, cell in ids.items() if tables.key_of(heading).endswith(_NAMING)]


def person(known: Directory, facts: Mapping[str, str]) -> tuple[Student, ...]:
    """Return the students that a learning system means by an `email`, a `sid` or a `name`."""
    named = known.names.get(_plain(facts.get("name", "")), ())
    for key in (login_of(facts.get("email", "")), login_of(facts.get("sid", ""))):
        if key in known.logins:
            return (known.logins[key],)
        if len(students := known.ids.get(key, ())) == 1:
            return _agreed(students, named)
    return named


def matches(names: Sequence[str], known: Directory) -> list[Match]:
    """Return the match of each name, in order."""
    found = [_match(name, known) for name in names]
    # GitHub's `assignment-login` fits several students where one login ends with another. The
    # assignment is the one that the other names begin with.
    usual = Counter(one.prefix for one in found if one.prefix)
    return [
        one if len(one.students) < 2 else _by_prefix(name, one, known, usual)
        for name, one in zip(names, found, strict=True)
    ]


def _match(name: str, known: Directory) -> Match:
    for key in dict.fromkeys((login_of(name), login_of(stem(name)))):
        if key in known.logins:
            return Match((known.logins[key],), name, order=(2, 0))
        if len(students := known.ids.get(key, ())) == 1:
            return Match(students, name, order=(1, 0))
    if written := _CANVAS.fullmatch(name):
        order = (0, int(written["file"][:18]))
        notes = ("Canvas marks it as late",) if written["late"] else ()
        students = _named(written["user"], written["who"], known)
        return Match(students, written["name"], order, notes)
    if written := _MOODLE.fullmatch(name):
        students = _named(written["user"], written["who"], known)
        order = (0 if written["kind"] == "file" else -1, 0)
        return Match(students, written["name"] or "", order)
    ends = dict(_ends(name, known))
    prefix = next(iter(ends)) if len(ends) == 1 else ""
    return Match(tuple(ends.values()), name, prefix=prefix)


def stem(name: str) -> str:
    """Return the name without the suffix of an archive, repository or kernel file."""
    low = name.casefold()
    suffix = next((one for one in SUFFIXES if low.endswith(one)), "")
    return name[: len(name) - len(suffix)] if suffix else name


def _named(user: str, who: str, known: Directory) -> tuple[Student, ...]:
    """Return the student with the learning system's number of a user, else those with the name."""
    named = known.names.get(_plain(who), ())
    numbered = known.ids.get(user, ())
    return _agreed(numbered, named) if len(numbered) == 1 else named


def _agreed(numbered: tuple[Student, ...], named: tuple[Student, ...]) -> tuple[Student, ...]:
    # A roster's `Seat number` may equal a learning system's number of somebody else.
    return numbered if not named or numbered[0] in named else (*numbered, *named)


def _ends(name: str, known: Directory) -> Iterator[tuple[str, Student]]:
    """Yield each student with whose login the name ends, behind what comes before it."""
    key = login_of(stem(name))
    for mark in re.finditer("[-_]", key):
        if student := known.logins.get(key[mark.end() :]):
            yield key[: mark.end()], student


def _by_prefix(name: str, match: Match, known: Directory, usual: Mapping[str, int]) -> Match:
    fitting = [student for prefix, student in _ends(name, known) if prefix in usual]
    return replace(match, students=tuple(fitting)) if len(fitting) == 1 else match


def _spellings(name: str) -> set[str]:
    """Return `adalovelace` and `lovelaceada` for a name, and each further order of its words."""
    words = re.split(r"[\s,]+", name.strip(" ,"))
    turned = {_plain("".join(words[n:] + words[:n])) for n in range(len(words))}
    return turned - {""}


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())
