"""bench/kept.py: a benchmark that is stopped goes on where it ended, and keeps nothing stale."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.model.errors import UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import kept

    yield kept
    for name in ("kept", "merge"):
        sys.modules.pop(name)


@pytest.fixture
def course(tmp_path: Path) -> list[Exercise]:
    for name in ("01_one", "02_two", "03_three"):
        for shelf in ("exercises", "solutions"):
            (tmp_path / shelf / name).mkdir(parents=True)
        (tmp_path / "exercises" / name / "spec.py").write_text("SPEC = 1\n")
        (tmp_path / "solutions" / name / "kernel.py").write_text("x = 1\n")
    return catalog.exercises(tmp_path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "record.json"


def measuring(
    done: list[str], wrong: tuple[str, ...] = (), version: str = "1"
) -> Callable[[Exercise], dict[str, Any]]:
    """A benchmark of one row for each exercise, which takes down what it measured."""

    def measure(exercise: Exercise) -> dict[str, Any]:
        done.append(exercise.name)
        row = {"exercise": exercise.name, "ok": exercise.name not in wrong}
        return {"environment": version, "wall_s": 1.0, "exercises": [row]}

    return measure


def fine(record: dict[str, Any]) -> bool:
    return all(row["ok"] for row in record["exercises"])


def test_each_exercise_has_its_rows_and_all_together_are_ok(kept, course, out: Path):
    done: list[str] = []
    record = kept.by_exercise(course, measuring(done), fine, out)
    assert done == ["01_one", "02_two", "03_three"]
    assert (record["ok"], record["left"], record["wall_s"]) == (True, [], 3.0)
    assert json.loads(out.read_text()) == record


def test_a_run_that_is_stopped_goes_on(kept, course, out: Path):
    done: list[str] = []

    def stopped(exercise: Exercise) -> dict[str, Any]:
        if exercise.name == "02_two":
            raise KeyboardInterrupt
        return measuring(done)(exercise)

    with pytest.raises(KeyboardInterrupt):
        kept.by_exercise(course, stopped, fine, out)
    part = json.loads(out.read_text())
    assert (part["ok"], part["left"]) == (False, ["02_two", "03_three"])
    record = kept.by_exercise(course, measuring(done), fine, out)
    assert done == ["01_one", "02_two", "03_three"]
    assert (record["ok"], record["left"], len(record["exercises"])) == (True, [], 3)


def test_none_begins_after_the_time_is_over(kept, course, out: Path):
    record = kept.by_exercise(course, measuring([]), fine, out, seconds=0.0)
    assert (record["ok"], len(record["left"])) == (False, 3)


def test_what_changed_since_is_measured_again(kept, course, out: Path):
    """A wrong row of it does not stay in the verdict either."""
    kept.by_exercise(course, measuring([], wrong=("02_two",)), fine, out)
    assert not json.loads(out.read_text())["ok"]
    (course[1].root / "solutions" / "02_two" / "kernel.py").write_text("x = 2\n")
    done: list[str] = []
    record = kept.by_exercise(course, measuring(done), fine, out)
    assert done == ["02_two"]
    assert (record["ok"], len(record["exercises"])) == (True, 3)


def test_an_exercise_that_was_not_asked_for_keeps_its_rows(kept, course, out: Path):
    kept.by_exercise(course[:1], measuring([]), fine, out)
    record = kept.by_exercise(course[1:2], measuring([]), fine, out)
    assert [row["exercise"] for row in record["exercises"]] == ["01_one", "02_two"]


def test_another_version_is_another_record(kept, course, out: Path):
    kept.by_exercise(course[:1], measuring([]), fine, out)
    with pytest.raises(UsageError, match="differ in 'environment'"):
        kept.by_exercise(course, measuring([], version="2"), fine, out)
