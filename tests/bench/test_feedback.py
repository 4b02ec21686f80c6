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
