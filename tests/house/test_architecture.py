"""ARCHITECTURE.md and the folders on disk agree."""

from __future__ import annotations

import re

import pytest
from pages import ROOT, rows, section

PAGE = ROOT / "ARCHITECTURE.md"
TWO_SCREENS = 100  # lines


def test_every_room_on_disk_has_a_row():
    listed = {row[0].strip("`/") for row in rows(section(PAGE, "Architecture"))}
    rooms = {face.parent.name for face in ROOT.glob("grader/*/__init__.py")}
    assert listed == rooms


def test_every_room_is_in_the_picture_of_imports():
    picture = re.findall(r"^```\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)[0]
    rooms = {face.parent.name for face in ROOT.glob("grader/*/__init__.py")}
    assert rooms <= set(re.findall(r"\w+", picture))


@pytest.mark.parametrize("row", rows(section(PAGE, "Where to change what")), ids=lambda row: row[0])
def test_a_question_leads_to_a_place(row: list[str]):
    places = re.findall(r"`(grader/[\w/.]+)`", row[1])
    for place in places:
        folder = place.replace("NAME/", "")
        assert (ROOT / folder).exists(), place


@pytest.mark.parametrize("row", rows(section(PAGE, "The seams")), ids=lambda row: row[0])
def test_a_seam_has_a_folder(row: list[str]):
    for place in re.findall(r"`([\w/.]+)`", row[1]):
        folder = ROOT / place.partition("NAME")[0]
        assert folder.is_dir(), place


def test_the_page_fits_on_two_screens():
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= TWO_SCREENS
