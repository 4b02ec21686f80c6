"""A release of some exercises, packed for Gradescope: it grades these, and knows no other."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from grader import cli

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHOSEN, OTHER = "puzzles/p01_map", "exercises/01_vector_add"
SETTINGS = """
name = "small"
version = "1"
[grades]
deadline = 2026-11-20T12:00:00Z
[grades.weights]
exercises = 70
puzzles = 30
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course as Gradescope unpacks it, of a release of one exercise out of two.

    The course's rules weigh what is not released, too.
    """
    folder = tmp_path_factory.mktemp("term")
    root = folder / "small"
    for place in (CHOSEN, OTHER):
        name = Path(place).name
        shutil.copytree(ROOT / place, root / place)
        shutil.copytree(ROOT / "solutions" / name, root / "solutions" / name)
    (root / "course.toml").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_COURSE", str(root))
        patch.chdir(folder)
        release = ["release", "--out", "kernels", "--only", "p01_map", "--no-git"]
        assert cli.main([*release, "--grader", "kernel-grader==0.1.0"]) == 0
        assert cli.main(["export", "gradescope-zip", "kernels", "--out", "autograder.zip"]) == 0
    with zipfile.ZipFile(folder / "autograder.zip") as archive:
        archive.extractall(folder / "autograder")
    return folder / "autograder" / "course"


def test_only_the_chosen_exercise_is_in_the_zip(course: Path):
    assert [one.parent.name for one in course.glob("*/*/spec.py")] == ["p01_map"]


def test_a_submission_is_graded_at_the_chosen_exercise_alone(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(course / "puzzles", tmp_path / "submission" / "puzzles")
    solution = ROOT / "solutions" / "p01_map" / "kernel.py"
    shutil.copy(solution, tmp_path / "submission" / CHOSEN)
    monkeypatch.setenv("GRADER_COURSE", str(course))
    monkeypatch.chdir(tmp_path)
    command = ["ci", "--device", "cpu", "--submission", "submission", "--student", "ada"]
    assert cli.main([*command, "--report", "gradescope=results.json"]) == 0
    tests = json.loads(Path("results.json").read_text())["tests"]
    assert len(tests) == 1
    assert tests[0]["status"] == "passed"
