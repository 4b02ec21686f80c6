"""The map of a course that has all of its exercises, or only a part."""

from __future__ import annotations

from types import SimpleNamespace

from grader.course.places import Place, course_map
from grader.reports.contract import builds_on, map_of


def exercise(name: str, *needs: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, any_spec=SimpleNamespace(needs=needs))


def test_what_a_released_part_lacks_is_named_and_nothing_breaks():
    one, two = exercise("01_one"), exercise("02_two", "01_one", "p03_gone")
    assert course_map([one, two]) == [Place(one), Place(two, (one,), ("p03_gone",))]
    assert builds_on(course_map([one, two])[1]) == "01_one, p03_gone (not in this course)"


def test_long_rows_of_the_map_go_on_below_each_other():
    names = [f"{number:02}_an_exercise" for number in range(8)]
    places = course_map([*map(exercise, names), exercise("08_last", *names)])
    lines = map_of(places, 80).plain.splitlines()
    assert lines[0].split() == ["EXERCISE", "BUILDS", "ON"]
    assert lines[1].split() == ["00_an_exercise", "–"]
    assert all(len(line) <= 80 for line in lines)
    assert lines[9].startswith("08_last")
    assert all(line.startswith(" " * 16 + "0") for line in lines[10:])
