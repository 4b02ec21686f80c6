"""An exercise's files and its spec."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.course.exercise import Exercise, load_spec
from grader.model.errors import BrokenExercise

COURSES = Path(__file__).parents[1] / "courses"
SMALL = COURSES / "small"
BROKEN = COURSES / "broken"


def test_an_exercise_knows_its_files():
    exercise = catalog.find(SMALL, "01_double")
    assert exercise.root == SMALL
    assert exercise.kernel == SMALL / "exercises/01_double/kernel.py"
    assert exercise.tests == SMALL / "exercises/01_double/test_kernel.py"
    assert exercise.solution == SMALL / "solutions/01_double/kernel.py"
    assert exercise.spec.title == "Double"


def test_wrong_kernels_are_the_files_named_so(tmp_path: Path):
    answers = tmp_path / "solutions" / "01_double"
    answers.mkdir(parents=True)
    for name in ("wrong_b.py", "kernel.py", "wrong_a.py", "wrong.py"):
        (answers / name).touch()
    shutil.copytree(SMALL / "exercises" / "01_double", tmp_path / "exercises" / "01_double")
    found = Exercise(tmp_path / "exercises" / "01_double").wrong_kernels
    assert [path.name for path in found] == ["wrong_a.py", "wrong_b.py"]


@pytest.mark.parametrize("name", ["02_raises", "03_no_spec"])
def test_a_broken_spec_is_nobody_elses_fault(name: str, snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as raised:
        _ = catalog.find(BROKEN, name).spec
    assert text_of(raised.value, BROKEN) == snapshot


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('Case((1,), "float32")', 'Case((1, 2), "float32")'),
        ("largest=(", "largest=(3, "),
        ('scored=Scored(dtype="float32"', 'scored=Scored(dtype="float32", columns=8'),
    ],
    ids=["an edge", "largest", "scored"],
)
def test_a_case_of_other_dimensions_is_refused(
    part: str, other: str, tmp_path: Path, snapshot: SnapshotAssertion
):
    """It failed in the middle of a check, where the learner's file unpacks a shape."""
    text = (COURSES / "small" / "exercises" / "01_double" / "spec.py").read_text(encoding="utf-8")
    assert part in text
    path = tmp_path / "01_double" / "spec.py"
    path.parent.mkdir()
    path.write_text(text.replace(part, other, 1), encoding="utf-8")
    with pytest.raises(BrokenExercise) as caught:
        load_spec(path)
    assert text_of(caught.value, tmp_path) == snapshot


def test_a_spec_with_a_syntax_error_is_broken(tmp_path: Path, snapshot: SnapshotAssertion):
    (tmp_path / "spec.py").write_text("SPEC = (")
    with pytest.raises(BrokenExercise) as caught:
        load_spec(tmp_path / "spec.py")
    assert text_of(caught.value, tmp_path) == snapshot
