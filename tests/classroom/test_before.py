"""Hold this version to courses, runs and signatures of the version before.

`tests/courses/before/` holds a course that kernel-grader 0.1.0 released before its modules became
rooms, and what its `grader ci --sign` made of the two solutions.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.classroom import ci_targets
from grader.course import catalog

pytestmark = pytest.mark.slow

BEFORE = Path(__file__).parents[1] / "courses" / "before"
ROOT = Path(__file__).parents[2]
SOLVED = {"01_vector_add": "exercises", "p01_map": "puzzles"}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The released course, solved by its learner."""
    folder = tmp_path_factory.mktemp("before") / "course"
    shutil.copytree(BEFORE / "course", folder)
    for name, shelf in SOLVED.items():
        shutil.copy(ROOT / "solutions" / name / "kernel.py", folder / shelf / name / "kernel.py")
    return folder


def run(course: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    without = {"GRADER_COURSE", "GITHUB_ACTIONS", "CI"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=course,
        capture_output=True,
        text=True,
        env=environment | variables,
    )


@pytest.fixture(scope="module")
def attempts(course: Path) -> list[dict[str, Any]]:
    """Grade by the command of its CI."""
    report = ("--report", "attempt=attempts.jsonl")
    done = run(course, "grader.cli", "ci", "--device", "cpu", "--student", "ada", *report)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (course / "attempts.jsonl").read_text().splitlines()]


def test_its_exercises_are_graded_by_the_command_of_its_ci(attempts: list[dict[str, Any]]):
    statuses = {one["result"]["exercise"]: one["result"]["status"] for one in attempts}
    assert statuses == dict.fromkeys(SOLVED, "pass")


def test_no_file_of_it_counts_as_changed(course: Path):
    """Its release.json is read: where today's course has another spec, no student wrote it."""
    today = [catalog.find(ROOT, name) for name in SOLVED]
    notes = [note for target in ci_targets.plan(today, course) for note in target.notes]
    assert len(notes) >= len(SOLVED)
    assert [note for note in notes if " is of another release: " not in note] == []


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        pytest.param((), {}, id="by its entry point"),
        pytest.param(
            ("-p", "grader.plugin"), {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, id="by its name"
        ),
    ],
)
def test_pytest_grades_them(course: Path, words: tuple[str, ...], variables: dict[str, str]):
    folder = ("-p", "no:cacheprovider", "puzzles/p01_map", "--device", "cpu")
    done = run(course, "pytest", *words, *folder, **variables)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout  # five steps and two tests


def test_its_signed_attempts_are_ranked(
    course: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(course)
    words = ["--trust", str(BEFORE / "public.pem"), "--out", str(tmp_path / "attempts.csv")]
    assert cli.main(["export", "csv-long", str(BEFORE / "signed.jsonl"), *words]) == 0
    rows = (tmp_path / "attempts.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {name for row in rows for name in SOLVED if name in row} == set(SOLVED)
    assert "left out" not in capsys.readouterr().err
