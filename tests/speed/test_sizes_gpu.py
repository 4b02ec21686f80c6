"""Kernels of tests/courses/sizes on a GPU: two lengths of rows, and the latency of one row."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Limit, Outcome
from grader.model.results import Step

COURSE = Path(__file__).parents[1] / "courses" / "sizes"

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


def checked(course: Path, file: str) -> dict[str, Step]:
    exercise = catalog.find(course, "01_rms")
    request = Request(exercise, exercise.solution.with_name(file), Options(device="cuda", seed=1))
    [result] = check.run([request], lambda text: None)
    return {step.name: step for step in result.steps}


def speed_step(file: str) -> Step:
    return checked(COURSE, file)["speed"]


def test_a_right_kernel_reaches_each_gate():
    step = speed_step("kernel.py")
    assert step.outcome is Outcome.PASS, step
    long, longer, small = step.speed.sizes
    assert (long.case.split(" × ")[1], longer.case.split(" × ")[1], small.case) == (
        "4,096 in float32",
        "16,384 in float32",
        "1 × 1,024 in float32",
    )
    assert min(long.share, longer.share) > 0.8
    assert small.share > 0.5
    product = long.share * longer.share * small.share
    assert step.speed.share == pytest.approx(product ** (1 / 3))


def test_a_single_row_is_enough_for_each_step(tmp_path: Path):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course)
    with (course / "exercises" / "01_rms" / "spec.py").open("a") as spec:
        spec.write("\nfrom dataclasses import replace\n")
        spec.write("SPEC = replace(SPEC, scored=SPEC.also_scored[-1], also_scored=())\n")
    steps = checked(course, "kernel.py")
    assert steps["memory"].outcome is Outcome.PASS, steps["memory"]  # there is no half of a row
    assert steps["speed"].outcome is Outcome.PASS, steps["speed"]


def test_a_kernel_that_is_slow_at_one_size_fails_and_the_size_is_named():
    step = speed_step("wrong_long_rows.py")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "too_slow")
    assert "16,384 in float32" in step.failure.case


def test_ten_launches_fail_the_latency_gate():
    step = speed_step("wrong_ten_launches.py")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "too_slow")
    assert step.failure.case == "1 × 1,024 in float32"
    if step.speed is not None:  # else it was hopeless by its first call
        assert step.speed.sizes[2].limit is Limit.LAUNCHES
