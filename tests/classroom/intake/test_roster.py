"""Rosters as learning systems, GitHub and people write them: nothing in a line stops the class."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.classroom import Roster, read_roster
from grader.model.errors import UsageError


def roster(folder: Path, content: str | bytes, encoding: str = "utf-8") -> Roster:
    path = folder / "roster.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return read_roster(path)


def logins(read: Roster) -> list[str]:
    return [student.login for student in read.students]


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        pytest.param("login,name", "ada,Ada Lovelace", id="by-hand"),
        pytest.param('"identifier","github_username","name"', "7,ada,Ada", id="github"),
        pytest.param("Student,ID,SIS User ID,SIS Login ID,Section", "Ada,1,2,ada,A", id="canvas"),
        pytest.param('"Last Name","First Name","Username"', "Lovelace,Ada,ada", id="blackboard"),
        pytest.param("First name;Surname;Email address;Username", "Ada;L;a@b;ada", id="moodle"),
        pytest.param("First Name\tLast Name\tSID\tEmail", "Ada\tL\tada\ta@b", id="gradescope"),
        pytest.param("student", "ada", id="one-column"),
    ],
)
def test_the_login_is_found_whatever_system_wrote_the_roster(
    heading: str, row: str, tmp_path: Path
):
    read = roster(tmp_path, f"{heading}\n{row}\n")
    assert logins(read) == ["ada"]
    assert read.problems == ()


def test_every_column_has_its_field_and_the_others_are_kept_for_exports(tmp_path: Path):
    text = (
        "Student,ID,SIS Login ID,E-mail,Section,Group,Extension\n"
        '"Lovelace, Ada",17,ada,a@b.org,A,pair,2026-12-01\n'
    )
    [ada] = roster(tmp_path, text).students
    found = (ada.name, ada.email, ada.section, ada.group, ada.due, ada.ids)
    assert found == ("Lovelace, Ada", "a@b.org", "A", "pair", "2026-12-01", {"ID": "17"})


def test_a_given_and_a_family_name_are_one_name(tmp_path: Path):
    [ada] = roster(tmp_path, "First name,Last name,login\nAda,Lovelace,ada\n").students
    assert ada.name == "Ada Lovelace"


@pytest.mark.parametrize(
    ("encoding", "is_reported"),
    [("utf-8", False), ("utf-8-sig", False), ("utf-16", False), ("cp1252", True)],
)
def test_names_with_accents_survive_each_encoding(encoding: str, is_reported: bool, tmp_path: Path):
    read = roster(tmp_path, "login,name\njose,José\n", encoding)
    assert [student.name for student in read.students] == ["José"]
    assert bool(read.problems) is is_reported


def test_the_first_of_two_lines_of_one_student_counts(tmp_path: Path):
    read = roster(tmp_path, "login,name\nada,First\nalan,Alan\n ADA ,Second\n")
    assert [student.name for student in read.students] == ["First", "Alan"]


def test_a_name_with_a_line_feed_is_one_name_and_the_lines_behind_it_keep_their_numbers(
    tmp_path: Path,
):
    read = roster(tmp_path, 'login,name\nada,"Ada\nLovelace"\n,Nobody\n')
    assert [student.name for student in read.students] == ["Ada Lovelace"]
    assert "line 4 " in read.problems[0]


def test_a_quote_that_nothing_closes_does_not_take_the_students_behind_it(tmp_path: Path):
    read = roster(tmp_path, 'login,name\nada,"Ada\nalan,Alan\ngrace,"Grace" Hopper\n')
    assert logins(read) == ["ada", "alan", "grace"]
    assert [one.split(" has")[0] for one in read.problems] == [
        "roster.csv: line 2",
        "roster.csv: line 4",
    ]


def test_the_lines_that_canvas_adds_are_no_students(tmp_path: Path):
    text = 'Student,SIS Login ID\n    Points Possible,\nAda,ada\n"Student, Test",f00\n'
    read = roster(tmp_path, text)
    assert (logins(read), read.problems) == (["ada"], ())


def test_an_extension_that_is_no_time_is_reported_and_ignored(tmp_path: Path):
    read = roster(tmp_path, "login,due\nada,next week\nalan,2026-12-01T12:00:00+01:00\n")
    assert [student.due for student in read.students] == ["", "2026-12-01T12:00:00+01:00"]
    assert len(read.problems) == 1


def test_odd_lines_are_reported_by_number_and_none_stops_the_class(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    text = (
        "login,login,name,due\n"
        ",x,Nobody,\n"
        "=HYPERLINK(1),x,A formula,\n"
        "a\x07b\u202ec,x,Hidden characters,\n"
        f"{'x' * 201},x,Too long,\n"
        "ada,x,Ada,soon\n"
        "ada,x,Twice,\n"
        "../ada,x,A path,\n"
        "\n"
        "grace,x,Grace,,too many cells\n"
        '"alan,x,Alan,\n'
        "last,x,Last,\n"
    )
    read = roster(tmp_path, text)
    assert logins(read) == ["=HYPERLINK(1)", "abc", "ada", "../ada", "grace", "alan", "last"]
    assert "\n".join(read.problems) == snapshot


def test_each_sentence_names_its_roster(tmp_path: Path):
    for section in ("a", "b"):
        path = tmp_path / f"section {section}.csv"
        path.write_text("login\nada\nADA\n", encoding="utf-8")
        [said] = read_roster(path).problems
        assert said == f"section {section}.csv: line 3: ADA is already in line 2, which counts"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("mark,comment\n1,fine\n", id="no-logins"),
        pytest.param("\n \n", id="blank"),
        pytest.param("", id="empty"),
    ],
)
def test_only_a_file_that_is_no_roster_ends_the_command(
    content: str, tmp_path: Path, snapshot: SnapshotAssertion
):
    with pytest.raises(UsageError) as caught:
        roster(tmp_path, content)
    assert text_of(caught.value, tmp_path) == snapshot


def test_a_roster_that_is_a_spreadsheet_or_not_there_ends_the_command(tmp_path: Path):
    with pytest.raises(UsageError):
        roster(tmp_path, b"PK\x03\x04" + bytes(range(256)) * 4)
    with pytest.raises(UsageError):
        read_roster(tmp_path / "missing.csv")


def test_a_roster_without_students_says_so(tmp_path: Path):
    assert roster(tmp_path, "login,name\n").problems == ("roster.csv: it has no students",)
