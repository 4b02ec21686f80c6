"""The key of a result: what could change a verdict changes it, and nothing else does."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.classroom.batch import units
from grader.classroom.batch.units import Unit
from grader.course import Exercise, catalog

SMALL = Path(__file__).parents[2] / "courses/small"
LEVELS = Path(__file__).parents[2] / "courses/levels"


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    root = shutil.copytree(LEVELS, tmp_path / "course")
    return catalog.find(root, "01_double")


def unit(**changes: object) -> Unit:
    exercise = catalog.find(SMALL, "p01_copy")
    one = Unit(exercise, b"a = 1\n", "rules", (("grader", "1"),), hardened=True)
    return replace(one, **changes)


@pytest.mark.parametrize(
    "changed",
    [
        unit(content=b"a = 2\n"),
        unit(exercise=catalog.find(SMALL, "01_double")),
        unit(rules="others"),
        unit(versions=(("grader", "2"),)),
        unit(hardened=False),
    ],
    ids=["file", "exercise", "rules", "versions", "walls"],
)
def test_what_could_change_a_verdict_changes_the_key(changed: Unit):
    assert changed.key("cpu") != unit().key("cpu")
    assert changed.id != unit().id


def test_a_gpu_model_has_results_of_its_own():
    assert len({unit().key(model) for model in ("cpu", "NVIDIA H100", "NVIDIA H200")}) == 3
    assert unit().key("cpu") == unit().key("cpu")


@pytest.mark.parametrize("name", ["spec.py", "helpers.py"])
def test_the_exercises_own_files_are_rules(exercise: Exercise, name: str):
    before = units.rules_of(exercise)
    with (exercise.folder / name).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert units.rules_of(Exercise(exercise.folder)) != before


@pytest.mark.parametrize("name", ["kernel.py", "kernel_cuda.py", "README.md", ".hidden"])
def test_a_kernel_and_the_lesson_are_no_rules(exercise: Exercise, name: str):
    # An instructor's own kernel file, or a mended lesson, must not grade a class again.
    before = units.rules_of(exercise)
    with (exercise.folder / name).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert units.rules_of(Exercise(exercise.folder)) == before


def test_versions_name_the_graders_own_code():
    assert dict(units.versions())["grader"].partition("+")[2]
