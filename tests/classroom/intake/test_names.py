"""A submission's name finds its student, or nobody: a guess would grade another one's work."""

from __future__ import annotations

import pytest

from grader.classroom.intake import names
from grader.classroom.intake.names import Match
from grader.classroom.intake.records import Student

ADA = Student("ada", "Ada King Lovelace", "ada@example.org", ids={"ID": "1234", "Points": "95"})
ALAN = Student("Alan.T", "Turing, Alan", ids={"Identifier": "Participant 567", "ID": "9"})
JOSE = Student("jose-m", "José Müller")
M = Student("m", "Mary Somerville")
CLASS = (ADA, ALAN, JOSE, M)


def match(*entries: str, students: tuple[Student, ...] = CLASS) -> list[Match]:
    return names.matches(entries, names.directory(students))


@pytest.mark.parametrize(
    ("entry", "student"),
    [
        pytest.param("ada", ADA, id="login"),
        pytest.param("ADA ", ADA, id="case-and-blanks"),
        pytest.param("ada.zip", ADA, id="archive"),
        pytest.param("ada.tar.gz", ADA, id="two-suffixes"),
        pytest.param("ada.git", ADA, id="bare-repository"),
        pytest.param("ada.py", ADA, id="kernel"),
        pytest.param("alan.t", ALAN, id="login-with-a-dot"),
        pytest.param("ada@example.org", ADA, id="e-mail"),
        pytest.param("kernels-2026-ada", ADA, id="github-classroom"),
        pytest.param("hw1_ada.zip", ADA, id="underscore"),
        pytest.param("Ada King Lovelace_777_assignsubmission_file_", ADA, id="moodle-name"),
        pytest.param("Ada King Lovelace_1_assignsubmission_onlinetext_", ADA, id="moodle-text"),
        pytest.param("Somebody Else_567_assignsubmission_file", ALAN, id="moodle-number"),
        pytest.param("Alan Turing_1_assignsubmission_file_kernel.py", ALAN, id="moodle-file"),
        pytest.param("lovelaceadaking_77_88_kernel.py", ADA, id="canvas-name"),
        pytest.param("turingalan_LATE_77_88_kernels.zip", ALAN, id="canvas-late"),
        pytest.param("anonymous_1234_88_kernel.py", ADA, id="canvas-number"),
        pytest.param("mullerjose_1_2_kernel.py", JOSE, id="accents"),
    ],
)
def test_each_form_of_a_name_finds_its_student(entry: str, student: Student):
    assert match(entry)[0].students == (student,)


@pytest.mark.parametrize(
    "entry", ["nobody", "adam", "ada2", "adakernels", "95", "ada.bak", "", "-"]
)
def test_a_name_that_only_resembles_one_finds_nobody(entry: str):
    """95 are Ada's points, which name nobody."""
    assert match(entry)[0].students == ()


def test_one_login_at_the_end_of_another_is_told_apart_by_the_other_submissions():
    """`kernels-jose-m` is `m`'s of an assignment kernels-jose, or `jose-m`'s of kernels."""
    alone = match("kernels-jose-m")[0]
    among = match("kernels-jose-m", "kernels-ada")[0]
    assert (alone.students, among.students) == ((JOSE, M), (JOSE,))


def test_two_students_of_one_name_are_not_guessed_at():
    twins = (Student("a1", "Ada Lovelace"), Student("a2", "Lovelace, Ada"))
    [moodle, canvas] = match(
        "Ada Lovelace_1_assignsubmission_file_", "lovelaceada_1_2_k.py", students=twins
    )
    assert moodle.students == canvas.students == twins


@pytest.mark.parametrize(
    "entry", ["lovelaceada_12_999_kernel.py", "Ada Lovelace_12_assignsubmission_file_"]
)
def test_a_number_and_a_name_of_two_students_are_not_guessed_at(entry: str):
    """12 is Ada's number in the learning system, and Bob's seat: a heading cannot tell."""
    ada, bob = Student("ada", "Ada Lovelace"), Student("bob", "Bob", ids={"Seat number": "12"})
    assert match(entry, students=(ada, bob))[0].students == (bob, ada)


def test_gradescope_s_number_and_name_of_two_students_are_not_guessed_at():
    ada, bob = Student("ada", "Ada Lovelace"), Student("bob", "Bob", ids={"Seat number": "12"})
    known = names.directory((ada, bob))
    assert names.person(known, {"name": "Ada Lovelace", "sid": "12"}) == (bob, ada)
    assert names.person(known, {"name": "Bobby", "sid": "12"}) == (bob,)


def test_a_number_decides_between_two_students_of_one_name():
    twins = (Student("a1", "Ada Lovelace", ids={"ID": "12"}), Student("a2", "Lovelace, Ada"))
    assert match("lovelaceada_12_999_kernel.py", students=twins)[0].students == twins[:1]


def test_a_login_is_found_before_a_longer_name_that_ends_with_another():
    both = (Student("x-ada"), ADA)
    assert match("x-ada", students=both)[0].students == (both[0],)


@pytest.mark.parametrize(
    "entry", ["somebody_1_2_kernels-ada.zip", "Somebody_1_assignsubmission_file_kernels-ada.zip"]
)
def test_a_stranger_s_file_is_nobody_s_whatever_the_stranger_named_it(entry: str):
    assert match(entry)[0].students == ()


def test_canvas_says_what_a_file_was_named_and_which_came_later():
    first, second = match("lovelaceadaking_1_20_kernel.py", "lovelaceadaking_1_300_kernel-1.py")
    assert (first.name, second.name) == ("kernel.py", "kernel-1.py")
    assert first.order < second.order
