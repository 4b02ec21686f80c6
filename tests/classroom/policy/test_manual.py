"""An instructor's file of changes: each line is used, or named with its number."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from class_runs import row, run

from grader.classroom.policy import manual
from grader.classroom.policy.records import Manual
from grader.model.errors import UsageError

CLASS = run(row("ada"), row("Bob"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "manual.csv"


def read(file: Path, *lines: str, head: str = "login,exercise,points,comment") -> manual.Changes:
    file.write_text("\n".join((head, *lines)), encoding="utf-8")
    return manual.read(file, CLASS)


def test_points_changes_and_comments(file: Path):
    found = read(
        file,
        "ada,01_double,7,",
        'ADA,02,+2.5,"a fine idea, well done"',
        "bob,p01_copy,-1,",
        "bob,,,come to my office",
        "bob,02_row_sum,'+1,",
        "",
    )
    assert found.problems == ()
    assert found.lines == (
        Manual("ada", "01_double", Fraction(7), line=2),
        Manual("ada", "02_row_sum", None, Fraction(5, 2), "a fine idea, well done", 3),
        Manual("Bob", "p01_copy", None, Fraction(-1), line=4),
        Manual("Bob", comment="come to my office", line=5),
        Manual("Bob", "02_row_sum", None, Fraction(1), line=6),
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("eve,01_double,7,", "the class has no student eve"),
        (",01_double,7,", "the class has no student ''"),
        ("ada,03_max,7,", "the class run graded no exercise 03_max"),
        ("ada,01_double,seven,", "seven is not a number of points"),
        ("ada,01_double,nan,", "nan is not a number of points"),
        ("ada,01_double,1e9,", "1e9 is not a number of points"),
        ("ada,,7,", "points belong to an exercise, and none is named"),
        ("ada,01_double,,", "it has neither points nor a comment"),
        ("bob,01_double,7,5,graded by hand", "it has more cells than the file has columns"),
        ("bob,01_double,7,5,", "it has more cells than the file has columns"),
        ("bob,01_double,7,5", "its comment is the number 5"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_costs_no_other(file: Path, line: str, fault: str):
    found = read(file, line, "ada,01_double,7,")
    (problem,) = found.problems
    assert problem.startswith(f"manual.csv, line 2: {fault}")
    assert found.lines == (Manual("ada", "01_double", Fraction(7), line=3),)


def test_points_that_are_set_twice_are_named(file: Path):
    found = read(file, "ada,01_double,7,", "ada,01_double,8,", "ada,01_double,+1,")
    assert found.problems == ("manual.csv, line 3: line 2 sets these points already, and counts",)
    assert [one.line for one in found.lines] == [2, 4]


def test_comments_are_one_clean_line(file: Path):
    found = read(file, 'ada,01_double,,"two\nlines and \x1b[31mred"')
    assert found.lines[0].comment == "two lines and [31mred"


def test_an_unclosed_quote_takes_no_line_of_another_student(file: Path):
    opened = 'ada,02,+2,"a fine idea'
    with pytest.raises(UsageError, match="line 3 is no CSV"):
        read(file, "bob,01_double,1,", opened, "bob,02,7,graded by hand", "ada,01_double,3,")
    with pytest.raises(UsageError, match="line 2 is no CSV"):
        read(file, opened, 'bob,02,7,"graded by hand"')


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"student,exercise,points\n", "has no column 'login'"),
        (b"", "has no column 'login'"),
        (b"\xff\xfe\x00", "it is not UTF-8"),
        (b"login," + b"x" * 140_000, "line 1 is no CSV: field larger than field limit"),
    ],
)
def test_a_file_without_these_columns_is_no_file_of_changes(file: Path, content: bytes, fault: str):
    file.write_bytes(content)
    with pytest.raises(UsageError, match=fault):
        manual.read(file, CLASS)


def test_a_file_that_is_not_there_is_named(file: Path):
    with pytest.raises(UsageError, match="No such file"):
        manual.read(file, CLASS)
