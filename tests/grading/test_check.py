"""The command's side of a check: what it believes of what comes back from a judge."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.options import Options
from grader.model.errors import GraderError
from grader.model.results import Result

ROOT = catalog.find_root(Path(__file__).parents[1])
ADD = catalog.find(ROOT, "01_vector_add")
RESULT = {
    "schema": "grader/result/v1",
    "exercise": "01_vector_add",
    "title": "",
    "status": "pass",
    "points": 10,
    "max_points": 10,
    "kernel": {"path": "kernel.py", "sha256": ""},
    "environment": {"grader": "0", "python": "3", "device": "cpu", "simulated": True},
    "seed": 7,
    "started_at": "",
    "duration_s": 1.5,
    "steps": [],
}


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes checks start a program in the judge's place that tells results and ends with a code."""

    def stand_in(results: int, code: int) -> None:
        program = tmp_path / "judge"
        lines = (json.dumps(RESULT) + "\n") * results
        program.write_text(
            f"#!{sys.executable}\n"
            "import os, sys\n"
            f"os.write(int(sys.argv[-1]), {lines.encode()!r})\n"
            f"os._exit({code})\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(check.sys, "executable", str(program))

    return stand_in


def graded() -> list[str]:
    request = check.Request(ADD, ADD.solution, Options(device="cpu"))
    return [result.status.value for result in check.run([request], lambda text: None)]


def test_a_judge_that_came_to_its_end_is_believed(judge):
    judge(results=1, code=0)
    assert graded() == ["pass"]


def test_what_an_interrupted_judge_has_told_is_kept(judge):
    judge(results=1, code=130)
    assert graded() == ["pass"]


@pytest.mark.parametrize(
    ("results", "code"), [(0, 0), (2, 0), (1, 1), (1, 9), (2, 130), (0, 130)], ids=str
)
def test_a_verdict_that_something_else_may_have_written_is_none(judge, results: int, code: int):
    """A kernel file that reached the judge's pipe, and ended the judge, would say more or less."""
    judge(results, code)
    with pytest.raises(GraderError) as caught:
        graded()
    assert caught.value.message == (
        f"The judge ended (exit status {code}) before it had graded everything: {results} of 1."
    )


def properties(result: Result) -> str:
    (step,) = (step for step in result.steps if step.name == "properties")
    return step.summary


def test_one_judge_grades_several_exercises_each_by_its_own_tests():
    """All of their files are called test_kernel.py: pytest took the first for those of the rest."""
    exercises = [catalog.find(ROOT, name) for name in ("p01_map", "p02_zip")]
    told: list[str] = []
    requests = [check.Request(one, one.solution, Options(device="cpu")) for one in exercises]
    results = check.run(
        [requests[0], requests[0], requests[1]],
        told.append,
        lambda result: told.append(f"{result.exercise}: {result.status}"),
    )
    assert told == [
        *("grading p01_map …", "p01_map: pass", "p01_map: pass"),
        *("grading p02_zip …", "p02_zip: pass"),
    ]
    first, again, second = map(properties, results)
    assert first == again
    assert "own place only" in first
    assert "swapped arrays turn the sign" in second


HELPED = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import helper


def test_its_own_helper(kernel):
    assert Path(helper.__file__).parent == Path(__file__).parent
"""


def test_what_an_exercises_tests_import_is_not_the_nexts(tmp_path: Path):
    """Nor where they look for it: two exercises may each have a helper.py beside their tests."""
    for name in ("p01_map", "p02_zip"):
        one = catalog.find(ROOT, name)
        for folder in (one.folder, one.answers):
            shutil.copytree(folder, tmp_path / folder.relative_to(ROOT))
        tests = tmp_path / one.tests.relative_to(ROOT)
        tests.write_text(HELPED)
        tests.with_name("helper.py").write_text("")
    made = [catalog.find(tmp_path, name) for name in ("p01_map", "p02_zip")]
    requests = [check.Request(one, one.solution, Options(device="cpu")) for one in made]
    results = check.run(requests, lambda text: None)
    assert [str(result.status) for result in results] == ["pass", "pass"]


def test_several_exercises_have_one_judge(monkeypatch: pytest.MonkeyPatch):
    """What it imports takes as long as to grade two puzzles."""
    started: list[int] = []
    monkeypatch.setattr(check, "_judge", lambda requests, heard: started.append(len(requests)))
    check.run([check.Request(one, one.solution) for one in catalog.exercises(ROOT)], print)
    assert started == [len(catalog.exercises(ROOT))]


def test_nothing_to_grade_starts_no_judge(judge):
    judge(results=0, code=1)
    assert check.run([], print) == []
