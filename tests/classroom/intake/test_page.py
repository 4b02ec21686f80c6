"""docs/intake.md names the headings, suffixes and limits that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from grader.classroom.attempts import LONGEST_NAME
from grader.classroom.intake import archives, contents, names, repositories, roster, tables, writing

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "intake.md").read_text(encoding="utf-8")
MIB = 1 << 20


def row(first: str) -> str:
    (found,) = re.findall(rf"^\| {re.escape(first)} \| (.*) \|$", PAGE, re.MULTILINE)
    return found


def test_the_page_lists_every_heading_of_a_roster():
    for field in ("login", "name", "email", "section", "group", "due"):
        listed = [tables.key_of(name) for name in row(field).partition(":")[0].split(", ")]
        assert listed == list(roster.HEADINGS[field])
    given, family = (part.split(", ") for part in row("name, in two columns").split("; and "))
    assert [tables.key_of(name) for name in given] == list(roster.HEADINGS["given"])
    assert [tables.key_of(name) for name in family] == list(roster.HEADINGS["family"])


def test_the_page_lists_every_suffix_of_an_archive():
    (line,) = re.findall(r"\*\*an archive\*\*: (.*);", PAGE)
    assert {*re.findall(r"`([.\w]+)`", line), ".7z", ".rar"} == set(archives.SUFFIXES)


def test_the_page_lists_how_the_headings_of_columns_that_name_students_end():
    (listed,) = re.findall(r"The headings of the columns in 2 and 3 end with (.*?)\.", PAGE, re.S)
    assert tuple(re.findall(r"`(\w+)`", listed)) == names._NAMING


def test_the_page_has_the_limits():
    assert f"than {LONGEST_NAME} characters" in " ".join(PAGE.split())
    assert row("an archive") == (
        f"{archives.LARGEST_ARCHIVE // MIB} MiB, {archives.MOST_ENTRIES:,} entries"
    )
    assert contents.MOST_ENTRIES == archives.MOST_ENTRIES
    assert row("all files in a tar archive") == f"{archives.MOST_STREAM // MIB} MiB"
    assert row("a file that is copied") == f"{writing.LARGEST_FILE // MIB} MiB"
    assert row("all files that are copied") == f"{writing.MOST_BYTES // MIB} MiB"
    assert row("files below a repository's `objects/`") == f"{repositories.MOST_OBJECTS:,}"
    seconds, memory = repositories.MOST_SECONDS, repositories.MOST_KIB >> 20
    assert row("one call of git") == f"{seconds} s of a processor core, {memory} GiB of memory"
