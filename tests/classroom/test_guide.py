"""docs/classroom.md, followed to the letter with a small course and a class of two."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

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
        shutil.copytree(ROOT / folder, course / folder)
        answers = course / "solutions" / name
        answers.mkdir(parents=True)
        for solution in (ROOT / "solutions" / name).glob("kernel*.py"):
            shutil.copy(solution, answers)
    shutil.copytree(ROOT / "classroom", course / "classroom")
    (settings,) = SETTINGS
    (course / "course.toml").write_text(settings)
    set_up, release, trusted, *rest = COMMANDS
    # That a course judges as it should is what `grader verify` and its own tests are for.
    assert set_up.startswith("grader verify --all\n")
    follow(set_up.partition("\n")[2], course)
    follow(release, course)
    hand_in(around, "ada", {name: course / "solutions" / name for name in ("p01_map",)})
    hand_in(around, "bob", {})
    (around / "submissions" / "bob" / "puzzles" / "p01_map" / "spec.py").write_text("SPEC = 1\n")
    for block in (trusted, *rest):
        follow(block, course)
    return around


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


def hand_in(around: Path, student: str, solved: dict[str, Path]) -> None:
    submission = around / "submissions" / student
    shutil.copytree(around / "kernels", submission)
    for name, answers in solved.items():
        shutil.copy(answers / "kernel.py", submission / "puzzles" / name)


def test_every_submission_was_graded_and_signed_with_the_course_s_own_specs(after: Path):
    graded = {}
    for student in ("ada", "bob"):
        signed = json.loads((after / "results" / f"{student}.jsonl").read_text())
        attempts = map(json.loads, signed["payload"].split("\n"))
        graded[student] = {attempt["result"]["exercise"]: attempt for attempt in attempts}
    assert graded["ada"]["p01_map"]["result"]["status"] == "pass"
    assert graded["bob"]["p01_map"]["result"]["status"] == "not_started"
    assert graded["bob"]["p01_map"]["notes"] == [
        "puzzles/p01_map/spec.py was changed: graded with the course's own"
    ]
    assert graded["ada"]["01_vector_add"]["course"] == "kernels-2026"


def test_the_grades_are_out(after: Path):
    with (after / "grades.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == ["ada", "bob"]


def test_the_board_is_published_and_names_nobody(after: Path):
    page = (after / "board" / "index.html").read_text()
    known = json.loads((after / "who.json").read_text())
    assert "ada" in json.dumps(known)
    assert not re.search(r"\b(ada|bob)\b", page)


def test_solutions_come_on_their_day_and_not_before(after: Path):
    published = after / "published"
    text = "\n".join(f.read_text() for f in published.rglob("*") if f.is_file())
    assert "2026-12-18" in text
    assert "def vector_add" not in text


def test_a_check_of_the_solutions_exits_as_the_guide_says(after: Path):
    """It said 3 for a machine without a GPU, on which all went well."""
    (check,) = re.findall(r"^grader check .*(?= \|\| true$)", GUIDE, re.MULTILINE)
    follow(check, after / "course")
    assert "exits with 0 without a GPU" in " ".join(GUIDE.split())


def test_the_cost_of_a_submission_is_what_was_measured():
    record = json.loads((ROOT / "bench" / "results" / "verify_h200.json").read_text())
    measured = {one["exercise"]: one["wall_s"] for one in record["solutions"]}
    shown = re.findall(r"^\| (\w+) \| (\d+) \|$", GUIDE, re.MULTILINE)
    assert shown == [(name, f"{seconds:.0f}") for name, seconds in measured.items()]
    total = sum(measured.values())
    assert f"| all six | {total:.0f} |" in GUIDE
    assert f"takes {100 * total / 3600:.1f} hours of one H200" in GUIDE
