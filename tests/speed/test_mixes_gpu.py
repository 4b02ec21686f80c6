"""Kernels whose mix of reads and writes no exercise of the course has, on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from streams import UNUSUAL_MIXES, exercise_of

from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Status
from grader.speed.mixes import Mix

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


@pytest.mark.parametrize("mix", UNUSUAL_MIXES, ids=lambda mix: mix.name)
def test_an_exercise_of_another_mix_is_graded_by_its_own_ceiling(mix: Mix, tmp_path: Path):
    """It ended as broken: only some mixes had a reference kernel."""
    exercise, kernel = exercise_of(mix, tmp_path)
    [result] = check.run(
        [Request(exercise, kernel, Options(device="cuda", seed=1))], lambda text: None
    )
    failed = [(step.name, step.failure.message) for step in result.steps if step.failure]
    assert (result.status, failed) == (Status.PASS, [])
    (speed,) = (step.speed for step in result.steps if step.speed)
    assert speed.share == pytest.approx(1, abs=0.05)
