"""`grader export` of a graded class: final grades, and every deduction with its reason."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import class_runs
import pytest
import reported
from class_runs import ADA, BOB, HANDED_IN, LATE, NOISY
from cryptography.hazmat.primitives import serialization

from grader import cli
from grader.classroom import signing
from grader.classroom.batch import collect
from grader.classroom.batch.collect import Found
from grader.classroom.batch.order import ClassOrder, write
from grader.classroom.intake.records import HandedIn, Intake, Student
from grader.classroom.policy.final import final
from grader.classroom.policy.settings import GradingSettings
from grader.course import Settings, catalog
from grader.model.attempts import Attempt, attempt_json
from grader.reports.formats import tables

pytestmark = pytest.mark.slow

SMALL = Path(__file__).parents[2] / "courses" / "small"
RULES = """
name = "small"
[grades]
deadline = 2026-11-20T12:00:00Z
[grades.late]
percent = 25
"""


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with a late policy, and its class run in the folder results."""
    course = Path(shutil.copytree(SMALL, tmp_path / "course"))
    (course / "course.toml").write_text(RULES)
    monkeypatch.setenv("GRADER_COURSE", str(course))
    monkeypatch.chdir(tmp_path)
    class_runs.results(tmp_path / "results", class_runs.a_class())
    return Path("results")


def exported(*options: str, form: str = "csv-wide", code: int = 0) -> list[dict[str, str]]:
    assert cli.main(["export", form, "results", "--out", "out.csv", *options]) == code
    with open("out.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_student_of_the_roster_has_a_row_with_the_final_grades():
    ada, bob, eve, grace = exported()
    assert [ada["student"], ada["01_double"], ada["02_row_sum"], ada["total"]] == [
        *("ada", "10", "0", "10")
    ]
    assert [bob["01_double"], bob["02_row_sum"], bob["total"]] == ["0", "7.5", "7.5"]
    assert bob["deductions"] == "02_row_sum: -2.5 points: 23 h late (1 day begun): 25 % off"
    assert [eve["total"], eve["notes"]] == ["0", "nothing was handed in"]
    assert grace["student"] == "'=cmd"
    assert [grace["01_double"], grace["02_row_sum"], grace["total"]] == ["", "0", ""]
    assert grace["notes"] == (
        f"no total: 01_double was not graded; 01_double: {NOISY}; 02_row_sum: kernel.py is a link"
    )


def test_a_reason_is_given_once_with_its_exercises_and_behind_the_notes():
    names = tuple(f"p{number:02}" for number in range(1, 50))
    cells = [
        class_runs.cell(name, standing="not_started", why=f"There is no puzzles/{name}/kernel.py.")
        for name in names
    ]
    cells[1] = class_runs.cell("p02", 5, status="pass")
    row = class_runs.row("ada", *cells, notes=("ada.zip counts",))
    rows = final(class_runs.run(row, exercises=names), GradingSettings())
    [ada] = csv.DictReader(io.StringIO(tables.final_wide(rows)))
    assert ada["notes"] == "ada.zip counts; p01, p03, p04, p05, p06 and 43 more: not started"


def test_long_rows_have_the_steps_and_the_grade_of_the_whole():
    rows = exported(form="csv-long")
    steps = [one for one in rows if one["student"] == "bob" and one["exercise"] == "02_row_sum"]
    assert [one["step"] for one in steps] == [step.name for step in BOB[1].result.steps]
    assert {(one["final"], one["deduction"], one["late_s"]) for one in steps} == {
        ("7.5", "2.5", str(23 * 3600))
    }
    (lost,) = [one for one in rows if one["student"] == "eve" and one["exercise"] == "01_double"]
    assert (lost["standing"], lost["final"], lost["step"]) == ("missing", "0", "")


def test_an_instructor_s_changes_are_merged_and_what_cannot_be_is_left_out(capsys):
    Path("mine.csv").write_text(
        "login,exercise,points,comment\n"
        "ada,02_row_sum,+1,nearly right\n"
        "=cmd,01_double,8,graded by hand\n"
        "mallory,01_double,10,\n"
    )
    ada, _, _, grace = exported("--manual", "mine.csv", code=1)
    assert (ada["total"], grace["total"]) == ("11", "8")
    assert ada["deductions"] == "02_row_sum: +1 point by the instructor; nearly right"
    assert "mine.csv, line 4: the class has no student mallory" in capsys.readouterr().err


def test_canvas_gets_the_final_grades_by_login_or_by_another_column_of_the_roster():
    Path("book.csv").write_text(
        "Student,ID,SIS Login ID,01_double (1),02_row_sum (2),Sum (3)\n"
        "    Points Possible,,,10,10,100\n"
        "Ada,7,S1,,,\nBob,8,BOB,,,\nEve,9,eve,,,\nGrace,10,=cmd,3,,\n"
    )
    options = ("--gradebook", "book.csv", "--total", "Sum")
    with_points = exported(*options, form="canvas")
    found = {row["Student"]: [*row.values()][3:] for row in with_points}
    assert found["Ada"] == ["10", "0", "50"]
    assert found["Bob"] == ["0", "7.5", "37.5"]
    assert found["Eve"] == ["0", "0", "0"]
    assert found["Grace"] == ["3", "0", ""], "a fault of ours changes no cell"


def test_moodle_and_blackboard_get_the_final_grades():
    rows = exported("--total", "Sum", form="moodle")
    assert [[*row.values()] for row in rows] == [
        ["'=cmd", "", "0", ""],
        ["ada", "10", "0", "10"],
        ["bob", "0", "7.5", "7.5"],
        ["eve", "0", "0", "0"],
    ]
    Path("center.csv").write_text(
        '"Username","02_row_sum [Total Pts: 20 Score] |7"\n"bob",""\n"S1",""\n"nobody",""\n'
    )
    filled = exported("--gradebook", "center.csv", form="blackboard")
    assert [[*row.values()] for row in filled] == [["bob", "15"], ["S1", "0"]]


def test_other_formats_have_the_attempts_that_count_and_say_that_nothing_is_deducted(capsys):
    assert cli.main(["export", "attempt", "results", "--out", "a.jsonl"]) == 0
    lines = Path("a.jsonl").read_text().splitlines()
    assert lines == [attempt_json(one) for one in (*ADA, *BOB)]
    assert "without deductions and changes" in capsys.readouterr().err


def take_back(attempt: str) -> tuple[str, str]:
    one = {"attempt": attempt, "reason": "Copied from Bob.", "by": "x", "at": HANDED_IN}
    decided = {"schema": "grader/decisions/v1", "invalidated": [one]}
    Path("decisions.json").write_text(json.dumps(decided))
    return "--decisions", "decisions.json"


def test_an_attempt_that_was_taken_back_has_no_points():
    ada, *_ = exported(*take_back(ADA[0].id))
    assert (ada["01_double"], ada["total"]) == ("0", "0")
    taken = "01_double: -10 points by the instructor; taken back: Copied from …."
    assert ada["deductions"] == taken


def test_no_change_gives_points_to_an_attempt_that_was_taken_back(capsys):
    Path("mine.csv").write_text(
        "login,exercise,points,comment\nada,01_double,+2,a fine idea\nada,01_double,,see me\n"
        "bob,02_row_sum,+2,\n"
    )
    ada, bob, *_ = exported("--manual", "mine.csv", *take_back(ADA[0].id), code=1)
    assert (ada["01_double"], ada["total"], bob["total"]) == ("0", "0", "9.5")
    assert "a fine idea; see me; taken back" in ada["deductions"]
    said = capsys.readouterr().err
    assert "mine.csv, line 2: the attempt was taken back: only the comment counts" in said
    assert "line 3" not in said


def sign(results: Path, *attempts: Attempt) -> tuple[str, str]:
    """Sign all attempts of the class, and return the option that trusts the key."""
    for student in {one.student for one in attempts}:
        signed = signing.sign([one for one in attempts if one.student == student], reported.KEY)
        (results / "attempts" / f"{student}.jsonl").write_text(f"{attempt_json(signed)}\n")
    return trust()


def trust() -> tuple[str, str]:
    key = reported.KEY.public_key()
    Path("public.pem").write_bytes(
        key.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return "--trust", "public.pem"


def edit(results: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = results / "class.json"
    written = json.loads(file.read_text())
    change(written)
    file.write_text(json.dumps(written))


def test_with_a_key_only_signed_points_count(results: Path):
    """class.json itself is not signed: anybody could write points into it."""
    lost = [one["total"] for one in exported(*trust(), code=1)]
    assert lost == ["", "", "0", ""]
    trusted = sign(results, *ADA, *BOB)
    assert [one["total"] for one in exported(*trusted)] == ["10", "7.5", "0", ""]


@pytest.mark.parametrize("time", ["2026-11-20T11:00:00Z", "", "soon"])
def test_with_a_key_the_time_of_submission_is_the_signed_one(results: Path, time: str, capsys):
    trusted = sign(results, *ADA, *BOB)
    edit(results, lambda run: run["rows"][1].update(submitted_at=time))
    ada, bob, *_ = exported(*trusted, code=1)
    assert (ada["total"], bob["02_row_sum"], bob["total"]) == ("10", "", "")
    said = capsys.readouterr().err
    assert "bob, 02_row_sum: the signed attempt was handed in at 2026-11-21T11:00:00Z" in said


@pytest.mark.parametrize("time", [LATE, ""])
def test_with_a_key_all_that_the_batch_writes_counts(results: Path, tmp_path: Path, time: str):
    """If nobody knows when it was handed in, the attempt has the time of its grading."""
    exercises = [catalog.find(tmp_path / "course", name) for name in class_runs.EXERCISES[:2]]
    work = tmp_path / "work" / "exercises"
    (work / "02_row_sum" / "kernel.py").mkdir(parents=True)  # settled without a judge
    (work / "01_double").mkdir()
    (work / "01_double" / "kernel.py").write_text("a = 1\n")
    one = HandedIn(Student("ada"), tmp_path / "work", "ada", time)
    rules = {exercise.name: "rules" for exercise in exercises}
    made = collect.plan(
        Intake((one,), (), ()), exercises, Settings("small", "Small"), rules, (), hardened=True
    )
    found = Found(dict.fromkeys(made.units, ("a" * 64, ADA[0].result)))
    order = ClassOrder(tmp_path, tmp_path, results, tuple(exercises), key=reported.KEY)
    write(made, found, order, complete=True)
    (ada,) = exported(*trust())
    assert (ada["01_double"], ada["02_row_sum"]) == ("7.5" if time else "10", "0")


def test_with_a_key_a_time_in_another_zone_is_the_same_time(results: Path):
    trusted = sign(results, *ADA, *BOB)
    edit(results, lambda run: run["rows"][0].update(submitted_at="2026-11-20T11:00:00+01:00"))
    assert exported(*trusted)[0]["total"] == "10"


def test_with_a_key_the_most_points_are_the_signed_ones_or_the_course_s(
    results: Path, tmp_path: Path, capsys
):
    """A smaller number multiplies a share of a weighted total, and 0 drops an exercise."""
    weights = f"{RULES}[grades.weights]\nexercises = 1\n"
    (tmp_path / "course" / "course.toml").write_text(weights)
    trusted = sign(results, *ADA, *BOB)
    honest = [one["total"] for one in exported(*trusted)]
    edit(results, lambda run: run["rows"][1]["cells"][1].update(max_points=5))
    assert [one["total"] for one in exported(*trusted, code=1)] == [honest[0], "", *honest[2:]]
    assert "bob, 02_row_sum: the signed attempt is out of 10 points" in capsys.readouterr().err
    dropped = {"standing": "missing", "points": None, "max_points": 0, "attempt": ""}
    edit(results, lambda run: run["rows"][0]["cells"][1].update(dropped))
    assert exported(*trusted, code=1)[0]["total"] == honest[0]


def test_a_class_of_another_course_is_refused(results: Path, capsys):
    file = results / "class.json"
    file.write_text(file.read_text().replace('"small"', '"other"'))
    assert cli.main(["export", "csv-wide", "results"]) == 2
    assert "of the course 'other'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["results", "x.jsonl"], ["x.jsonl", "--manual", "m.csv"]])
def test_a_class_is_exported_alone_and_only_it_can_be_changed(arguments: list[str]):
    assert cli.main(["export", "csv-wide", *arguments]) == 2
