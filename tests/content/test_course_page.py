"""README and docs/course.md show the course as its folders have it; its map leads forwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from course_page import PARTS, ROOT, renewed

from grader.course import catalog, course_map


@pytest.mark.parametrize(("path", "name", "lines"), PARTS, ids=[name for _, name, _ in PARTS])
def test_a_page_shows_what_the_folders_have(path: Path, name: str, lines):
    """`make golden` writes it."""
    page = path.read_text(encoding="utf-8")
    assert renewed(page, name, lines()) == page


def test_each_exercise_builds_on_some_that_come_before_it():
    """So the map has no circle, and who takes the exercises in their order lacks nothing."""
    places = course_map(catalog.exercises(ROOT))
    order = [place.exercise.name for place in places]
    for number, place in enumerate(places):
        assert not place.elsewhere, place.exercise.name
        assert {needed.name for needed in place.needs} <= set(order[:number]), place.exercise.name


def test_the_map_begins_where_the_page_says():
    begins = [
        place.exercise.name for place in course_map(catalog.exercises(ROOT)) if not place.needs
    ]
    page = (ROOT / "docs" / "course.md").read_text(encoding="utf-8").partition("<!-- map -->")[0]
    assert begins
    assert all(f"`{name}`" in page for name in begins)
