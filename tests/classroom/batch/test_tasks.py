"""The functions of a worker: a class run says of a file what `check` says of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.classroom.batch import tasks
from grader.course import Exercise, catalog
from grader.grading import Options, Request, check
from grader.machine import nvml
from grader.model import Result, parse_result

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[2] / "courses"
EXERCISE = catalog.find(COURSES / "toy", "p01_double")
CARDS = [nvml.Card(f"GPU-{letter}{number}", "H200", 1) for number, letter in enumerate("aab")]


@pytest.fixture(scope="module", autouse=True)
def _end_judge() -> Iterator[None]:
    yield
    tasks.close()


def graded(exercise: Exercise, kernel: Path, part: str = "whole", **fields: object) -> dict:
    asked = {
        "root": str(exercise.root),
        "exercise": exercise.name,
        "part": part,
        "seed": 7,
        "gpu": "",
        "hardened": False,
        "first": None,
    }
    return json.loads(tasks.grade(json.dumps(asked | fields), kernel.read_bytes()))


def without_times(result: Result) -> Result:
    """Leave out what differs from run to run, and the path, which the class run replaces."""
    steps = tuple(step.model_copy(update={"duration_s": 0.0}) for step in result.steps)
    kernel = result.kernel.model_copy(update={"path": ""})
    changes = {"steps": steps, "kernel": kernel, "duration_s": 0.0, "started_at": ""}
    text = result.model_copy(update=changes).model_dump_json(by_alias=True)
    return parse_result(text.replace(f" --kernel {result.kernel.path}", ""))


@pytest.mark.parametrize("name", ["kernel.py", "wrong_last.py"])
def test_a_class_run_says_what_check_says(name: str):
    kernel = EXERCISE.answers / name
    options = Options(seed=7, device="cpu")
    (checked,) = check.run([Request(EXERCISE, kernel, options)], lambda text: None)
    said = graded(EXERCISE, kernel)
    assert not said["measure"]
    result = parse_result(json.dumps(said["result"]))
    assert without_times(result) == without_times(checked)


def test_a_judge_that_cannot_grade_is_a_fault_and_no_result():
    said = graded(EXERCISE, EXERCISE.solution, root="/nowhere/at/all")
    assert "result" not in said
    assert said["fault"]


def test_a_closed_judge_is_started_again():
    tasks.close()
    assert graded(EXERCISE, EXERCISE.solution)["result"]["status"] == "pass"


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["kernel.py", "wrong_adds_x_twice.py"])
def test_on_a_gpu_both_parts_say_what_check_says(name: str, monkeypatch: pytest.MonkeyPatch):
    # Only a GPU that this process may use: a class run takes all memory of another one at times.
    cards = nvml.visible(os.environ.get(nvml.VISIBLE))
    if not cards:
        pytest.skip("there is no GPU here")
    gpu = cards[0].uuid
    monkeypatch.setenv(nvml.VISIBLE, gpu)  # as grading does, which would leave it so
    exercise = catalog.find(Path(__file__).parents[3], "01_vector_add")
    kernel = exercise.answers / name
    try:
        said = graded(exercise, kernel, "first", gpu=gpu)
        if said["measure"]:
            first = json.dumps(said["result"])
            said = graded(exercise, kernel, "second", gpu=gpu, first=first)
    finally:
        tasks.close()
    result = parse_result(json.dumps(said["result"]))
    options = Options(seed=7, device="cuda")
    (checked,) = check.run([Request(exercise, kernel, options)], lambda text: None)
    shape = [(step.name, step.outcome, step.points) for step in checked.steps]
    assert [(step.name, step.outcome, step.points) for step in result.steps] == shape
    assert (result.status, result.points) == (checked.status, checked.points)
