"""Gradescope's `submission_metadata.yml`, which names the students of each exported submission.

The file is YAML of one simple form, of which only the names and times are read:

    submission_12345678:
      :submitters:
      - :name: Ada Lovelace
        :sid: '100'
        :email: ada@example.org
      :created_at: 2026-11-20 10:00:00.000000000 Z
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.intake.names import Directory, person
from grader.classroom.intake.records import Student
from grader.model import UsageError, time_key

FILE = "submission_metadata.yml"
LARGEST = 64 << 20  # bytes: it may hold the results of all tests, too
_HEADING = re.compile(r"(?P<name>submission_\w+):\s*")
_FACT = re.compile(r"  (?P<new>- |  )?:(?P<key>name|sid|email|created_at):\s*(?P<value>.*)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class Exported:
    """One submission: its students on the roster, the others by name, and its time."""

    students: tuple[Student, ...]
    unknown: tuple[str, ...]
    submitted_at: str  # UTC, ISO 8601; may be empty


def exported(submissions: Path, known: Directory) -> dict[str, Exported]:
    """Return the exported submissions by name; none without the file. Raises UsageError."""
    path = submissions / FILE
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except OSError as error:
        raise UsageError(
            f"The file {path} cannot be read: {error.strerror}.", "Remove it or mend it."
        ) from None
    return {name: _of(lines, known) for name, lines in _sections(text)}


def _sections(text: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    name, facts = "", list[re.Match[str]]()
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line):
            if name:
                yield name, facts
            name, facts = heading["name"], []
        elif fact := _FACT.fullmatch(line):
            facts.append(fact)
    if name:
        yield name, facts


def _of(facts: list[re.Match[str]], known: Directory) -> Exported:
    people: list[dict[str, str]] = []
    time = ""
    for fact in facts:
        value = fact["value"].strip().strip("'\"")
        if fact["key"] == "created_at":
            if fact["new"]:
                continue  # of a part of the submission
            written = _TIME.match(value)
            time = time_key("".join(_iso(written))) if written else ""
            continue
        if fact["new"] == "- " or not people:
            people.append({})
        people[-1].setdefault(fact["key"], value)
    found = [(one, person(known, one)) for one in people]
    return Exported(
        tuple(students[0] for _, students in found if len(students) == 1),
        tuple(one.get("name", "") for one, students in found if len(students) != 1),
        time,
    )


def _iso(written: re.Match[str]) -> tuple[str, str, str, str]:
    return written[1], "T", written[2], written[3] or "Z"
