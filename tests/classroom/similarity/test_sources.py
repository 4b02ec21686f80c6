"""Files of a class become sources, with the group that each was handed in by."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.classroom.intake.records import HandedIn, Intake, Student
from grader.classroom.similarity.sources import sources
from grader.course import catalog

SMALL = Path(__file__).parents[2] / "courses" / "small"
DOUBLE = catalog.find(SMALL, "01_double")


def handed_in(folder: Path, login: str, content: bytes, group: str = "") -> HandedIn:
    kernel = folder / login / "exercises" / "01_double" / "kernel.py"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(content)
    return HandedIn(Student(login, group=group), folder / login, login, "")


@pytest.mark.parametrize("theirs", [" pair 1", "PAIR 1 "])
def test_groups_that_intake_takes_for_one_are_one_owner(theirs: str, tmp_path: Path):
    pair = (
        handed_in(tmp_path, "ada", b"x = 1\n", "Pair 1"),
        handed_in(tmp_path, "bob", b"x = 1\n", theirs),
    )
    ada, bob = sources(Intake(pair, (), ()), [DOUBLE])
    assert ada.owner == bob.owner


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path):
    (one,) = sources(
        Intake((handed_in(tmp_path, "ada", b"\xef\xbb\xbfx = 1\n"),), (), ()), [DOUBLE]
    )
    assert one.text == "x = 1\n"
