"""The figures of a save's verdict: medians, the limit of each exercise, and who did not pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("feedback", "check_latency", "host")


@pytest.fixture
def feedback(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import feedback

    yield feedback
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_row_has_the_medians_and_its_exercises_limit(feedback: ModuleType):
    made = feedback.row("p12_dot", [4.0, 9.0, 5.0], [2.4, 2.5, 2.6], {"pass"})
    assert made == {
        "exercise": "p12_dot",
        "status": "pass",
        "cold_s": 5.0,
        "warm_s": 2.5,
        "warm_to_cold": 0.5,
        "least_warm_s": 2.4,
        "limit_s": 2.5,
        "within": True,
    }
    slow = feedback.row("02_dot_reduction", [9.0], [5.1], {"pass", "fail"})
    assert (slow["limit_s"], slow["within"], slow["status"]) == (5.0, False, "fail, pass")


def test_each_round_saves_another_file_whose_kernels_are_compiled_anew(
    feedback: ModuleType, tmp_path: Path
):
    """A compiled kernel is known by its text, which has the numbers of its lines."""
    exercise = feedback.catalog.find(ROOT, "01_vector_add")
    saved = [feedback.edited(exercise, n, tmp_path).read_text().splitlines() for n in range(2)]
    solution = exercise.solution.read_text().splitlines()
    assert [each.index(solution[0]) for each in saved] == [1, 2]
    assert all(each[each.index(solution[0]) :] == solution for each in saved)


@pytest.mark.slow
def test_the_record_has_what_the_loop_needs(
    feedback: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # it changes to the course
    monkeypatch.setattr(feedback, "QUICK_RUNS", 1)
    out = tmp_path / "feedback.json"
    assert feedback.main(["p01_map", "--rounds", "1", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["quick_s"].keys() == {"exercises", "grader list", "grader --help"}
    assert record["quick_s"]["exercises"] == 60
    (check,) = record["checks"]
    assert check["status"] == "pass"
    assert 0 < check["warm_cpu_s"] < 60
    assert [held["requests"] for held in record["memory"]] == [2]
    assert record["memory"][0]["mib"] > 50  # torch is in there
