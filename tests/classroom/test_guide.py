"""docs/classroom.md, followed to the letter with a small course and a class of 34 odd students."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import few_cases
import odd_class
import pytest
import warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
SETTINGS = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
# What the guide's course holds here: an exercise whose speed is graded, and a puzzle.
SMALL = ("exercises/01_vector_add", "puzzles/p01_map")


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder around the course when the guide was followed to its end."""
    around = tmp_path_factory.mktemp("term")
    course = around / "course"
    for folder in SMALL:
        name = folder.partition("/")[2]
        if name == few_cases.NAME:  # the class hands in many right kernels
            few_cases.put_into(course)
        else:
            shutil.copytree(ROOT / folder, course / folder)
        answers = course / "solutions" / name
        answers.mkdir(parents=True)
        for solution in (ROOT / "solutions" / name).glob("kernel*.py"):
            shutil.copy(solution, answers)
    shutil.copytree(ROOT / "classroom", course / "classroom")
    (settings,) = SETTINGS
    (course / "course.toml").write_text(settings)
    set_up, release, grade, regrade, *rest = COMMANDS
    # That a course judges as it should is what `grader verify` and its own tests are for.
    assert set_up.startswith("grader verify --all\n")
    follow(set_up.partition("\n")[2], course)
    follow(release, course)
    made = odd_class.make(around)
    follow(grade, course)
    shutil.copy(around / "results" / "class.json", around / "before.json")
    hand_in_again(made.submissions / "wrong")
    follow(regrade, course)
    (around / "manual.csv").write_text(
        "login,exercise,points,comment\nrar,p01_map,3,unpacked by hand\nright,,,Well done.\n"
    )
    (around / "gradebook.csv").write_text(
        "Student,ID,SIS Login ID,p01_map (1),01_vector_add (2),Kernels (3)\n"
        "    Points Possible,,,7,7,100\n"
        + "".join(f"{login},,{login},,,\n" for login in made.expected)
    )
    *rest, publish = rest
    for block in rest:
        follow(block, course)
    # The check's own exit code is kept: a test reads it.
    assert publish.count("|| true") == 1
    follow(publish.replace("|| true", "&& code=0 || code=$?; echo $code > ../code"), course)
    return around


def hand_in_again(folder: Path) -> None:
    shutil.copy(ROOT / "solutions" / "p01_map" / "kernel.py", folder / "puzzles" / "p01_map")


def follow(script: str, course: Path) -> None:
    """Run the lines of a block as a reader would, with `grader` being the one that is tested."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB", "GITLAB"))}
    environment |= {
        "PATH": f"{warm.path_of_grader()}:{os.environ['PATH']}",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=course,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


def cells(around: Path, file: str = "results/class.json") -> dict[str, dict[str, str]]:
    """Return each student's outcome at each exercise, in the words of odd_class."""
    rows = json.loads((around / file).read_text())["rows"]
    return {
        row["student"]: {
            cell["exercise"]: cell["status"] or cell["standing"] for cell in row["cells"]
        }
        for row in rows
    }


def grades(around: Path, file: str = "grades.csv") -> dict[str, dict[str, str]]:
    with (around / file).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return {row.get("student", row.get("Student", "")): row for row in rows}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    return dict(odd_class.make(tmp_path_factory.mktemp("again")).expected)


def test_the_six_commands_are_those_that_the_page_explains():
    six = re.findall(r"^    (grader .*)$", GUIDE, re.MULTILINE)[:6]
    explained = " ".join(" ".join(COMMANDS).replace("\\\n", " ").split())
    assert len({line.split()[1] for line in six}) == 6
    for line in six:
        command, argument = line.split()[1:3]
        assert f"grader {command} {argument}" in explained, line


def test_every_student_of_the_odd_class_ends_with_one_row(after: Path, expected):
    assert cells(after, "before.json") == expected
    assert list(grades(after)) == list(expected)
    assert len(expected) == 34


def test_only_what_changed_was_graded_again(after: Path, expected):
    changed = {student for student, now in cells(after).items() if now != expected[student]}
    assert changed == {"wrong"}
    assert cells(after)["wrong"] == {"p01_map": "pass", "01_vector_add": "fail"}


def test_changed_specs_are_reported_and_not_used(after: Path):
    signed = json.loads((after / "results" / "attempts" / "changed.jsonl").read_text())
    attempts = [json.loads(line) for line in signed["payload"].split("\n")]
    assert {one["course"] for one in attempts} == {"kernels-2026"}
    notes = " ".join(note for one in attempts for note in one["notes"])
    assert "spec.py was changed: graded with the course's own" in notes


def test_the_grades_are_out_with_weights_and_changes(after: Path):
    """Without a GPU the exercise has no points for speed, and the puzzle has all of its own."""
    found = grades(after)
    assert found["right"]["p01_map"] == "7"
    most = float(found["right"]["max_points"])
    total = 20 + 80 * float(found["right"]["01_vector_add"]) / 10
    assert (float(found["right"]["total"]), most) == (pytest.approx(total, abs=0.01), 100)
    assert (found["missing"]["total"], found["missing"]["notes"]) == ("0", "nothing was handed in")
    assert found["rar"]["p01_map"] == "3"
    assert "by the instructor; unpacked by hand" in found["rar"]["deductions"]


def test_who_was_late_loses_points_and_reads_why(after: Path):
    late = {student for student, row in grades(after).items() if "% off" in row["deductions"]}
    assert late == {"zip"}
    page = (after / "feedback" / "zip.html").read_text()
    assert "(3 days begun): 30 % off" in page


def test_the_gradebook_is_filled(after: Path):
    filled, found = grades(after, "import.csv"), grades(after)
    assert filled["right"]["Kernels (3)"] == found["right"]["total"]
    assert filled["missing"]["Kernels (3)"] == "0"


def test_each_student_has_feedback_and_the_instructor_has_pages(after: Path, expected):
    assert len(list((after / "feedback").glob("*.html"))) == len(expected)
    assert "Well done." in (after / "feedback" / "right.md").read_text()
    assert "Well done." not in (after / "feedback" / "wrong.md").read_text()
    assert len(list((after / "overview" / "students").iterdir())) == len(expected)
    assert (after / "alike" / "index.html").is_file()


def test_the_board_is_published_and_names_nobody(after: Path):
    page = (after / "board" / "index.html").read_text()
    known = json.loads((after / "who.json").read_text())
    assert "right" in json.dumps(known)
    assert not re.search(r"\b(damaged|hooked)\b", page)


def test_solutions_come_on_their_day_and_not_before(after: Path):
    published = after / "published"
    text = "\n".join(f.read_text() for f in published.rglob("*") if f.is_file())
    assert "2026-12-18" in text
    assert "def vector_add" not in text


def test_a_check_of_the_solutions_exits_as_the_guide_says(after: Path):
    """It said 3 for a machine without a GPU, on which all went well."""
    (written,) = re.findall(r"^grader check .*> (\S+) \|\| true$", GUIDE, re.MULTILINE)
    assert (after / "code").read_text() == "0\n"
    found = [json.loads(line) for line in (after / "course" / written).read_text().splitlines()]
    assert [one["exercise"] for one in found] == ["p01_map", "01_vector_add"]
    assert "exits with 0 without a GPU" in " ".join(GUIDE.split())


def test_the_cost_of_a_submission_is_what_was_measured():
    record = json.loads((ROOT / "bench" / "results" / "verify_h200.json").read_text())
    measured = {one["exercise"]: one["wall_s"] for one in record["solutions"]}
    shown = re.findall(r"^\| (\w+) \| (\d+) \|$", GUIDE, re.MULTILINE)
    assert shown == [(name, f"{seconds:.0f}") for name, seconds in measured.items()]
    total = sum(measured.values())
    assert f"| all six | {total:.0f} |" in GUIDE
    assert f"takes {100 * total / 3600:.1f} hours of one H200" in GUIDE


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import grade_costs

    yield grade_costs
    sys.modules.pop("grade_costs")


def test_the_cost_of_a_class_run_is_what_was_measured(costs: ModuleType):
    """`python bench/grade_costs.py` prints the table for new figures."""
    record = json.loads((ROOT / "bench" / "results" / "grade_gpus.json").read_text())
    assert f"\n\n{costs.table(record)}\n" in GUIDE
    run = costs.on_one_gpu(record, "solution")
    words = " ".join(GUIDE.split())
    rate = f"{run['grading_s']:.0f} s, {run['a_minute']:.1f} a minute"
    assert f"it graded {run['kernels']} solutions in {rate}" in words


def test_several_gpus_grade_as_many_a_minute_as_was_measured(costs: ModuleType):
    record = json.loads((ROOT / "bench" / "results" / "grade_gpus.json").read_text())
    assert f"\n\n{costs.hosts_table(record)}\n" in GUIDE
    words = " ".join(GUIDE.split())
    pair, single = (_on(record, gpus) for gpus in (2, 1))
    assert f"graded {pair['a_minute'] / single['a_minute']:.2f} times as many a minute" in words
    graded = pair["cells"]["graded"]
    assert f"interrupted when {graded} of its {sum(pair['cells'].values())} kernels" in words
    times = _on(record["four_h200s"], 4)["a_minute"] / single["a_minute"]
    assert f"H200s of the first host graded {times:.1f} times as many" in words
    wrong = [_on(record[key], 1, "wrong_output") for key in ("one_host_of_h200s", "two_h200s")]
    assert all(run["cells"] == {"graded": run["kernels"]} for run in wrong)
    second, third = wrong
    assert (
        f"{second['kernels']} kernels with wrong outputs took {second['grading_s']:.0f} s" in words
    )
    rates = f"{second['a_minute']:.0f} and {third['a_minute']:.0f} a minute"
    assert f"and {third['grading_s']:.0f} s on one of the third: {rates}" in words
    few = record["four_h200s_of_20"]
    assert all(run["students"] == 5 * run["gpus"] for run in few["runs"])
    first, second = (
        [statistics.median(_on(few, gpus)["parts_s"][part]) for gpus in (4, 1)]
        for part in ("first", "second")
    )
    assert f"outputs took {first[0]} s there, and {first[1]} s on one GPU." in words
    assert f"Measuring a kernel took {second[0]} and {second[1]} s." in words


def test_what_other_gpus_do_moves_shares_as_little_as_the_guide_says(costs: ModuleType):
    record = json.loads((ROOT / "bench" / "results" / "grade_gpus.json").read_text())
    words = " ".join(GUIDE.split())
    first, second, third, fourth = (_speeds(record[key]["runs"]) for key in costs.HOSTS)
    for speeds in (*first, *second):
        assert max(_off([one["share"] for one in speeds if one["raised"] == 1])) < 0.003
    on_four = _speeds([_on(record["four_h200s"], 4)])
    off = [far for speeds in on_four for far in _off([one["share"] for one in speeds])]
    moved = f"moved {sum(far > 0.003 for far in off)} of {len(off)} shares by more than 0.3 %"
    assert f"{moved}, and one of these by {100 * max(off):.1f} %" in words
    times = [one["raised"] for speeds in second for one in speeds]
    raised = [time for time in times if time > 1.0005]
    of_all = f"raised {len(raised)} of {len(times)} times by more than 0.05 %"
    assert f"{of_all}, and one of these by {100 * (max(raised) - 1):.1f} %" in words
    for speeds in (*third, *fourth):
        assert max(_off([one["share"] for one in speeds])) < 0.01
    assert f"each of the {sum(map(len, third))} shares lay within 1 % of its median" in words
    assert f"So did each of the {sum(map(len, fourth))} on the fourth." in words
    for key in [*costs.HOSTS][:3]:
        vanished = record[key]["vanished"]
        assert vanished["cells"] == {"graded": vanished["kernels"]} == {"graded": 24}


def _on(host: dict[str, Any], gpus: int, kernel: str = "solution") -> dict[str, Any]:
    asked = gpus, kernel
    return next(run for run in host["runs"] if (run["gpus"], run["kernel"]) == asked)


def _speeds(runs: list[dict[str, Any]]) -> list[list[dict[str, float]]]:
    """Return what each run measured, for each exercise; of wrong outputs it measured nothing."""
    return [speeds for run in runs for speeds in run["speeds"].values() if speeds]


def _off(shares: list[float]) -> list[float]:
    """Return how far each share lies from their median, as a part of it."""
    middle = statistics.median(shares)
    return [abs(share / middle - 1) for share in shares]


def test_a_class_run_s_table_has_each_exercise_whose_parts_were_recorded(costs: ModuleType):
    of_each = {
        "04_online_softmax": {"first": [8.0, 9.0], "second": [5.0, 6.0, 7.25]},
        "01_vector_add": {"first": [4.0], "second": [2.0]},
    }
    both = {"first": [4.0, 8.0, 9.0], "second": [2.0, 5.0, 6.0, 7.25]}
    one = {"gpus": 1, "exit_code": 0, "kernels": 4, "speeds": of_each}
    solutions = {"kernel": "solution", "grading_s": 50.0, "parts_s": both}
    wrong = {"kernel": "wrong_output", "grading_s": 2.0, "parts_s": {"first": [], "second": []}}
    interrupted = one | solutions | {"exit_code": 130}
    runs = [interrupted, one | solutions | {"parts_by_exercise": of_each}, one | wrong]
    assert costs.table({"runs": runs}).splitlines()[2:] == [
        "| 01_vector_add, 1 solutions | 4.0 | 2.0 |  |",
        "| 04_online_softmax, 3 solutions | 8.5 | 6.0 |  |",
        "| 01, 04 together, 4 solutions | 8.0 | 5.5 | 12.5 |",
        "| 01, 04 together, 4 wrong outputs | – | – | 0.5 |",
    ]
