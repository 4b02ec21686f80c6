"""The trials of `verify`: which of them come to be measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.trials import Trial, reaches_measuring
from grader.course import catalog
from grader.grading import Options, Request

SMALL = Path(__file__).parents[1] / "courses/small"


@pytest.mark.parametrize(
    ("device", "expected", "measured"),
    [
        ("cuda", "pass", True),
        ("cuda", "memory", True),
        ("cuda", "traffic of scale", True),
        ("cuda", "properties", False),
        ("cuda", "not_started", False),
        ("cpu", "pass", False),
    ],
)
def test_what_passes_all_comparisons_reaches_measuring(device: str, expected: str, measured: bool):
    exercise = catalog.find(SMALL, "01_double")
    request = Request(exercise, exercise.solution, Options(device=device, seed=1))
    assert reaches_measuring(Trial("solution", "solution", expected, request)) is measured
