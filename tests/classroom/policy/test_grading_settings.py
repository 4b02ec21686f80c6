"""`[grades]` of course.toml: every entry, and each mistake in it named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from grader.classroom.policy import settings
from grader.classroom.policy.settings import Exercise, GradingSettings, Group, Late
from grader.course import catalog
from grader.course import settings as course_settings
from grader.model.errors import UsageError

SMALL = Path(__file__).parents[2] / "courses" / "small"

ALL = """
name = "small"
[grades]
deadline = 2026-11-20T23:59:00+01:00
count = ["exercises", "p01_copy"]
out_of = 50
[grades.deadlines]
01_double = "2026-10-30T23:59:00Z"
[grades.late]
percent = 12.5
each = "hour"
most = 60
grace_minutes = 15
closes_after = 48
[grades.weights]
exercises = 70
02_row_sum = 10
puzzles = 20
[grades.best]
exercises = 1
"""


@pytest.fixture
def exercises() -> list[Exercise]:
    return catalog.exercises(SMALL)


def read(folder: Path, text: str) -> GradingSettings:
    (folder / "course.toml").write_text(text)
    return course_settings.table(
        folder, "grades", lambda entries: settings.parsed(entries, catalog.exercises(SMALL))
    )


def test_all_of_it_is_read(tmp_path: Path):
    assert read(tmp_path, ALL) == GradingSettings(
        deadline=datetime(2026, 11, 20, 22, 59, tzinfo=UTC),
        deadlines={"01_double": datetime(2026, 10, 30, 23, 59, tzinfo=UTC)},
        late=Late(Fraction(25, 2), "hour", Fraction(60), timedelta(minutes=15), 48),
        counted=frozenset({"01_double", "02_row_sum", "p01_copy"}),
        groups=(
            Group("exercises", ("01_double",), Fraction(70), 1),
            Group("02_row_sum", ("02_row_sum",), Fraction(10)),
            Group("puzzles", ("p01_copy",), Fraction(20)),
        ),
        out_of=50,
    )
    assert course_settings.read(tmp_path).name == "small", "the table is none of its entries"


def test_without_the_table_all_points_are_added(tmp_path: Path):
    assert read(tmp_path, 'name = "small"\n') == GradingSettings()
    assert settings.read(SMALL) == GradingSettings()  # without a course.toml


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("due = 1", "'due' of grades is not one of deadline"),
        ("deadline = 2026-11-20", "deadline is not a time with a zone"),
        ('deadline = "2026-11-20T10:00:00"', "deadline is not a time with a zone"),
        ("deadline = 7", "deadline is not a time with a zone"),
        ("deadlines = {01_doubel = 2026-11-20T10:00:00Z}", "'01_doubel' of grades.deadlines"),
        ("late = 10", r"late is not a table: write \[grades.late\]"),
        ("late = {percents = 10}", "'percents' of grades.late is not one of percent"),
        ("late = {percent = 101}", "percent is a number from 0 to 100"),
        ("late = {percent = true}", "percent is a number from 0 to 100"),
        ("late = {grace_minutes = -1}", "grace_minutes is a number from 0 or more"),
        ('late = {each = "week"}', "each in .grades.late. is day or hour"),
        ('late = {each = ["day"]}', "each in .grades.late. is day or hour"),
        ("late = {each = {}}", "each in .grades.late. is day or hour"),
        ('count = [["puzzles"]]', "of count in .grades. is not one of exercises"),
        ("late = {closes_after = 1.5}", "closes_after is a whole number from 1"),
        ("count = []", "count lists exercises"),
        ('count = ["puzzle"]', "'puzzle' of count in .grades. is not one of exercises"),
        ("weights = {puzzle = 1}", "'puzzle' of grades.weights is not one of exercises"),
        ("weights = {puzzles = 0}", "all weights in .grades.weights. are 0"),
        ("weights = {puzzles = nan}", "puzzles is a number from 0"),
        ('count = ["exercises"]\nweights = {puzzles = 1}', "puzzles in .grades.weights. has no"),
        ("best = {puzzles = 1}", "grades.best names 'puzzles', which has no weight"),
        ("out_of = 0", "out_of is a whole number from 1"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, lines: str, fault: str):
    with pytest.raises(UsageError, match=fault):
        read(tmp_path, f'name = "small"\n[grades]\n{lines}\n')


def test_a_value_in_place_of_the_table_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"grades is not a table: write \[grades\]"):
        read(tmp_path, 'name = "small"\ngrades = 5\n')


def test_a_table_that_nobody_reads_is_an_error(tmp_path: Path):
    """Rules under a mistyped name would count nowhere, and nobody would see it."""
    (tmp_path / "course.toml").write_text('name = "a"\n[grade]\ndeadline = 1\n')
    with pytest.raises(UsageError, match=r"grade is .* or the tables .compile. and .grades."):
        course_settings.read(tmp_path)
