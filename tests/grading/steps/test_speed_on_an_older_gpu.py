"""Gates are meant for GPUs of some compute capability: an older one skips the step speed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.course.exercise import Exercise
from grader.grading.options import Options
from grader.grading.steps import speed
from grader.grading.steps.speed import measure
from grader.machine import devices
from grader.model.exercise import Spec
from grader.model.outcomes import Outcome
from grader.model.scored import Scored

ROOT = Path(__file__).parents[3]
ADD = Exercise(ROOT / "exercises" / "01_vector_add").spec
AMPERE, HOPPER = 80, 90


def needing(first: int | None, second: int | None = None) -> Spec:
    scored = Scored(dtype="float32", capability=first)
    return replace(
        ADD, scored=scored, also_scored=(replace(scored, dtype="float16", capability=second),)
    )


def graded_on(
    capability: int, spec: Spec, monkeypatch: pytest.MonkeyPatch, *, require_speed: bool = False
) -> Any:
    monkeypatch.setattr(devices, "capability", lambda: capability)
    monkeypatch.setattr(measure, "measure", lambda grading: "measured")
    options = Options(device="cuda", require_speed=require_speed)
    grading: Any = SimpleNamespace(spec=spec, options=options)
    return speed.speed(grading)


def test_an_older_gpu_skips_and_says_why(monkeypatch: pytest.MonkeyPatch):
    found = graded_on(AMPERE, needing(HOPPER), monkeypatch)
    assert found.outcome is Outcome.SKIP
    assert "compute capability 9.0" in found.summary
    assert "has 8.0" in found.summary


def test_where_speed_is_required_it_cannot_be_graded(monkeypatch: pytest.MonkeyPatch):
    found = graded_on(AMPERE, needing(HOPPER), monkeypatch, require_speed=True)
    assert found.outcome is Outcome.CANNOT_GRADE


def test_one_size_that_needs_a_newer_gpu_skips_the_step(monkeypatch: pytest.MonkeyPatch):
    assert graded_on(AMPERE, needing(None, HOPPER), monkeypatch).outcome is Outcome.SKIP


@pytest.mark.parametrize("spec", [needing(HOPPER), needing(AMPERE), needing(None)])
def test_a_gpu_that_is_new_enough_is_measured(spec: Spec, monkeypatch: pytest.MonkeyPatch):
    assert graded_on(HOPPER, spec, monkeypatch) == "measured"


def test_the_contract_names_the_gpu():
    assert speed.asks(needing(HOPPER)).endswith("; from compute capability 9.0 on")
    assert "capability" not in speed.asks(needing(None))
