"""The students of a class, from a CSV file of a learning system, of GitHub or made by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from grader.classroom.attempts import LONGEST_NAME
from grader.classroom.intake import tables
from grader.classroom.intake.records import Roster, Student
from grader.model import UsageError, login_of, quoted, texts, time_key

# Headings by `tables.key_of`, those that say most first: of several columns the first one counts.
HEADINGS: Mapping[str, Sequence[str]] = {
    "login": (
        *("login", "username", "githubusername", "githublogin", "github", "gitlabusername"),
        *("gitlab", "sisloginid", "loginid", "userid", "user", "netid", "studentlogin", "sid"),
        *("studentid", "idnumber", "orgdefinedid", "sisuserid", "identifier", "student"),
    ),
    "name": ("name", "fullname", "studentname", "displayname", "student"),
    "given": ("firstname", "givenname"),
    "family": ("lastname", "surname", "familyname"),
    "email": ("email", "emailaddress", "mail"),
    "section": ("section", "sections"),
    "group": ("group", "groupname", "groups", "team"),
    "due": ("due", "extension", "duedate", "deadline"),
}
_FORMULA = ("=", "+", "-", "@")
_CANVAS_POINTS, _CANVAS_TEST = "Points Possible", "Student, Test"


def read_roster(path: Path) -> Roster:
    """Read the students of a CSV file; a sentence with file and line reports what is odd.

    Raises UsageError only if the file as a whole is not a roster.
    """
    table = tables.read(path)
    columns = _columns_of(table.columns)
    if "login" not in columns:
        found = ", ".join(quoted(column) for column in table.columns if column)
        raise UsageError(
            f"The roster {path} has no column with logins. It has {found or 'no columns at all'}.",
            "Its first line names the columns: one of them must be login, username, "
            "github_username, SIS Login ID, Username, netid or student_id.",
        )
    problems = list(table.problems)
    students: list[Student] = []
    lines: dict[str, int] = {}
    for row in table.rows:
        student = _student(row, columns, problems)
        if student is None:
            continue
        key = login_of(student.login)
        if key in lines:
            problems.append(
                f"line {row.line:,}: {quoted(student.login)} is already in line {lines[key]:,}, "
                "which counts"
            )
            continue
        lines[key] = row.line
        students.append(student)
    if not students:
        problems.append("it has no students")
    # A class may have a roster for each section.
    return Roster(tuple(students), tuple(f"{quoted(path.name)}: {one}" for one in problems))


def _columns_of(columns: Collection[str]) -> dict[str, str]:
    """Return the column of each field that has one; no column serves two fields."""
    by_key: dict[str, str] = {}
    for column in columns:
        by_key.setdefault(tables.key_of(column), column)
    found: dict[str, str] = {}
    for field, keys in HEADINGS.items():
        free = (by_key[key] for key in keys if key in by_key)
        for column in free:
            if column not in found.values():
                found[field] = column
                break
    return found


def _student(row: tables.Row, columns: Mapping[str, str], problems: list[str]) -> Student | None:
    """Return the student of a row, or None for a row without one. Adds to `problems`."""
    cells = {field: row.cells.get(column, "") for field, column in columns.items()}
    raw = cells["login"].strip()
    named = {field: texts.clean_line(cell, tables.LONGEST_CELL) for field, cell in cells.items()}
    if _is_of_canvas(row):
        return None
    login = texts.clean_line(raw, LONGEST_NAME + 1)
    if not login:
        problems.append(f"line {row.line:,} has no login, and is left out")
        return None
    if len(raw) > LONGEST_NAME:
        problems.append(
            f"line {row.line:,}: the login {quoted(login, 20)} has {len(raw):,} characters, and "
            f"{LONGEST_NAME} are the most: it is left out"
        )
        return None
    problems += (f"line {row.line:,}: {what}" for what in _oddities(raw, login, named))
    used, due = set(columns.values()), named.get("due", "")
    return Student(
        login=login,
        name=named.get("name") or f"{named.get('given', '')} {named.get('family', '')}".strip(),
        email=named.get("email", ""),
        section=named.get("section", ""),
        group=named.get("group", ""),
        due=due if time_key(due) else "",
        ids={
            column: texts.clean_line(cell, tables.LONGEST_CELL)
            for column, cell in row.cells.items()
            if column and column not in used
        },
    )


def _is_of_canvas(row: tables.Row) -> bool:
    first = next(iter(row.cells.values()), "").strip()
    return first in (_CANVAS_POINTS, _CANVAS_TEST)


def _oddities(raw: str, login: str, named: Mapping[str, str]) -> Iterator[str]:
    shown = quoted(login)
    if login != raw:
        yield f"the login {quoted(raw)} holds hidden characters, and is read as {shown}"
    if login.startswith(_FORMULA):
        yield f"the login {shown} begins like a spreadsheet's formula"
    if "/" in login or login in (".", ".."):
        yield f"the login {shown} cannot name a file"
    if (due := named.get("due", "")) and not time_key(due):
        yield f"the extension of {shown}, {quoted(due)}, is not a time in ISO 8601, and is ignored"
