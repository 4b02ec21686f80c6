"""A step is added as a file and a kind as a folder: tests/courses/added has some of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ADDED = Path(__file__).parents[1] / "courses" / "added"


def copied(folder: Path) -> Path:
    unwanted = shutil.ignore_patterns("__pycache__", ".hypothesis")
    return Path(shutil.copytree(ADDED, folder / "course", ignore=unwanted))


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course with its extensions, to write in."""
    return copied(tmp_path)


def command(course: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *argv], cwd=course, capture_output=True, text=True
    )


def graded(course: Path, *argv: str) -> tuple[int, dict[str, Any]]:
    done = command(course, "check", *argv, "--device", "cpu", "--json", "--seed", "1")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def outcomes(result: dict[str, Any]) -> dict[str, tuple[str, int]]:
    return {step["name"]: (step["outcome"], step["points"]) for step in result["steps"]}


@pytest.fixture(scope="module")
def solutions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The results of all solutions, which pass: one judge grades them."""
    course = copied(tmp_path_factory.mktemp("solutions"))
    argv = ("--all", "--solution", "--device", "cpu", "--json", "--seed", "1")
    done = command(course, "check", *argv)
    assert done.returncode == 0, done.stdout + done.stderr
    results = map(json.loads, done.stdout.splitlines())
    return {result["exercise"]: result for result in results}


# -- a step


def test_a_step_in_a_file_joins_a_kind_behind_the_step_that_it_needs(
    solutions: dict[str, dict[str, Any]],
):
    result = solutions["p01_copy"]
    assert (result["status"], result["points"], result["max_points"]) == ("pass", 7, 7)
    assert list(outcomes(result).items()) == [
        ("load", ("pass", 0)),
        ("correctness", ("pass", 3)),
        ("short", ("pass", 1)),
        ("properties", ("pass", 2)),
        ("traffic", ("pass", 1)),
    ]


def test_an_added_step_fails_a_check(course: Path):
    code, result = graded(course, "p01", "--kernel", "solutions/p01_copy/wrong_long.py")
    assert (code, result["status"], result["points"]) == (1, "fail", 6)
    assert outcomes(result)["short"] == ("fail", 0)
    assert outcomes(result)["traffic"] == ("pass", 1)  # which does not need it


def test_an_added_step_is_not_run_where_one_that_it_needs_failed(course: Path):
    kernel = course / "kernel.py"
    right = (course / "solutions/p01_copy/kernel.py").read_text()
    kernel.write_text(right.replace("out[i] = x[i]", "out[i] = 2 * x[i]"))
    _, result = graded(course, "p01", "--kernel", str(kernel))
    assert outcomes(result)["short"] == ("not_run", 0)


def test_show_says_what_an_added_step_asks(course: Path):
    shown = command(course, "show", "p01").stdout
    assert "correctness 3, short 1, properties 2" in shown
    assert "  short    at most 40 lines\n" in shown


def test_a_step_that_is_broken_is_not_the_learners_fault(course: Path):
    (course / "extensions/steps/empty.py").write_text("STEP = None\n")
    done = command(course, "check", "p01", "--solution", "--device", "cpu")
    assert done.returncode == 4
    assert "grader.grading.steps.empty is broken" in done.stderr
    assert "has no STEP = Step(name='empty', ...)" in done.stderr


# -- a kind


def test_a_kind_in_a_folder_is_graded_without_a_kernel(course: Path):
    """By itself: beside a kernel, a judge would try walls."""
    code, result = graded(course, "p02", "--solution")
    assert (code, result["status"], result["points"], result["max_points"]) == (0, "pass", 2, 2)
    assert outcomes(result) == {"answers": ("pass", 2)}
    assert result["walls"] == []


def test_what_is_wrong_in_an_added_kind_is_the_learners_fault(course: Path):
    wrong = "solutions/p02_bytes/wrong_numbers.toml"
    code, result = graded(course, "p02", "--kernel", wrong)
    assert (code, result["status"], result["points"]) == (1, "fail", 0)
    assert outcomes(result) == {"answers": ("fail", 0)}


def test_the_learners_file_and_its_stub_are_the_kinds(course: Path):
    answers = course / "puzzles/p02_bytes/answers.toml"
    stub = answers.read_text()
    answers.unlink()
    assert command(course, "stub", "p02").returncode == 0
    assert answers.read_text() == stub
    code, result = graded(course, "p02")
    assert (code, result["status"]) == (1, "not_started")
    assert result["kernel"]["path"] == "puzzles/p02_bytes/answers.toml"


def test_list_and_show_name_the_kind(course: Path):
    listed = command(course, "list").stdout.splitlines()
    assert [line.split() for line in listed[2:3]] == [["○", "p02_bytes", "Bytes", "quiz", "2"]]
    shown = command(course, "show", "p02").stdout
    assert "p02_bytes   Bytes · a quiz · 2 points\n" in shown
    assert "questions\n  read     int\n  written  int\n" in shown


def test_verify_tries_what_the_kind_says(course: Path):
    done = command(course, "verify", "p02", "--device", "cpu")
    assert done.returncode == 0, done.stdout
    assert done.stdout == "✔ p02_bytes  stub ok · solution passes · 1 wrong kernel rejected\n"


def test_a_kind_without_traffic_comes_to_its_end(solutions: dict[str, dict[str, Any]]):
    """Nothing runs behind `properties`, which must be settled all the same."""
    result = solutions["p03_copy"]
    assert result["status"] == "pass"
    assert [step["name"] for step in result["steps"]] == ["load", "correctness", "properties"]
    assert outcomes(result)["properties"] == ("pass", 2)


def test_a_kernels_command_refuses_another_kind(course: Path):
    done = command(course, "show", "p02", "--trace")
    assert done.returncode == 2
    assert "p02_bytes is an exercise of the kind quiz: it has no kernel." in done.stderr


# -- a bound


def test_an_exercise_with_an_added_bound_is_graded(solutions: dict[str, dict[str, Any]]):
    result = solutions["01_copy"]
    assert result["status"] == "pass"
    assert outcomes(result)["speed"] == ("skip", 0)  # there is no GPU


# -- faults


STEP = """
from grader.grading import Step

def run(grading):
    {body}

STEP = Step(name="{name}", title="it fails", needs=("load",), kinds=("kernel",), run=run)
"""


def add_faulty_step(course: Path, name: str, body: str) -> None:
    (course / f"extensions/steps/{name}.py").write_text(STEP.format(name=name, body=body))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A check in which a step fails, and another where it calls what a spec has."""
    course = copied(tmp_path_factory.mktemp("faulty"))
    add_faulty_step(course, "faulty", '{}["sunrise"]')
    add_faulty_step(course, "of_spec", "grading.spec.memory_budget(grading.spec.counted)")
    spec = course / "puzzles/p01_copy/spec.py"
    broken = "memory_budget=lambda case: 1 // 0,\n    hints="
    spec.write_text(spec.read_text().replace("hints=", broken))
    return command(course, "check", "p01", "--solution", "--device", "cpu", "--json")


def step_of(done: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    return next(step for step in json.loads(done.stdout)["steps"] if step["name"] == name)


def test_an_exception_in_a_step_is_three_lines_and_no_traceback(
    faulty: subprocess.CompletedProcess[str],
):
    assert faulty.returncode == 4
    result = json.loads(faulty.stdout)
    assert result["status"] == "error"
    step = step_of(faulty, "faulty")
    assert (step["outcome"], step["points"]) == ("error", 0)
    failure = step["failure"]
    assert failure["kind"] == "error"
    assert failure["message"] == (
        "an extension of the course is broken: the step faulty fails with KeyError: 'sunrise'"
    )
    assert failure["where"] == "extensions/steps/faulty.py, line 5"
    assert failure["hint"] == "Report it to its author; your kernel is not at fault."
    assert outcomes(result)["traffic"] == ("pass", 1)  # which does not need it
    assert "Traceback" not in faulty.stderr


def test_an_exception_in_a_spec_is_the_exercises_fault(
    faulty: subprocess.CompletedProcess[str],
):
    step = step_of(faulty, "of_spec")
    assert step["outcome"] == "error"
    failure = step["failure"]
    assert failure["message"] == (
        "the exercise p01_copy is broken: the step of_spec fails with ZeroDivisionError: "
        "integer division or modulo by zero"
    )
    assert re.fullmatch(r"p01_copy/spec\.py, line \d+", failure["where"])


def test_debug_prints_the_traceback(course: Path):
    add_faulty_step(course, "faulty", '{}["sunrise"]')
    argv = ("check", "p01", "--solution", "--device", "cpu", "--json", "--debug")
    done = command(course, *argv)
    assert done.returncode == 4
    assert "Traceback (most recent call last)" in done.stderr
    assert "KeyError: 'sunrise'" in done.stderr
