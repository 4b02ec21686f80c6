"""docs/grading.md: its rules are read, its figures are those of the code and of the records."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

from pages import ROOT, rows, section

from grader.classroom.policy import settings
from grader.classroom.similarity import compare
from grader.course import catalog
from grader.course import settings as course_settings
from grader.grading.plan import points_of

PAGE = ROOT / "docs" / "grading.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_rules_on_the_page_are_those_of_a_course(tmp_path: Path):
    (shown,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    (tmp_path / "course.toml").write_text(f'name = "a"\n{shown}')
    exercises = catalog.exercises(ROOT)
    rules = course_settings.table(
        tmp_path, "grades", lambda entries: settings.parsed(entries, exercises)
    )
    assert rules.late.percent == 10
    assert [group.weight for group in rules.groups] == [80, 20]
    assert rules.groups[1].best == 20


def test_every_entry_has_a_row(tmp_path: Path):
    named = {row[0].strip("`") for row in rows(section(PAGE, "The rules of a course"))}
    late = {"percent", "each", "most", "grace_minutes", "closes_after"}
    top = {"deadline", "deadlines", "count", "weights", "best", "out_of"}
    assert named == top | {f"late.{name}" for name in late}


def test_the_points_of_puzzles_are_counted():
    points = {"exercises": 0, "puzzles": 0}
    exercises = catalog.exercises(ROOT)
    for one in exercises:
        points[one.shelf] += sum(points_of(one.any_spec).values())
    puzzles = sum(one.shelf == "puzzles" for one in exercises)
    told = f"The {puzzles} puzzles of this course have {points['puzzles']} of its "
    assert f"{told}{sum(points.values())} points" in " ".join(TEXT.split())


def test_the_figures_of_the_similarity_report_were_measured():
    record = json.loads((ROOT / "bench" / "results" / "similarity.json").read_text())
    assert (record["share"], record["fewest"]) == (compare.SHARE, compare.FEWEST)
    (at,) = [one for one in record["thresholds"] if one["share"] == compare.SHARE]
    found = at["copies_found"]
    assert found["renamed"] == found["constants"], "the page has one row for both"
    shown = [row[1] for row in rows(section(PAGE, "Alike kernels"))]
    assert shown == [
        f"{at['independent_reported']} of {record['independent_pairs']:,}",
        *(
            f"{one} of {of}"
            for one, of in (found[name] for name in list(found) if name != "renamed")
        ),
    ]
    prose = " ".join(TEXT.split())
    assert f"share {compare.SHARE:.0%}".replace("%", " %") in prose
    assert f"fewer than {compare.FEWEST} fingerprints" in prose
    assert f"more than {compare.COMMON} students wrote" in prose
    assert Fraction(str(compare.COMMON_SHARE)) == Fraction(1, 10), "a tenth"
    assert f"of {len(record['exercises'])} exercises" in prose
