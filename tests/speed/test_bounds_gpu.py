"""Kernels of tests/courses/bounds on a GPU, each held to its own bound."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result, Step

COURSE = Path(__file__).parents[1] / "courses" / "bounds"
# A reference that sorts each row first. Work that changes nothing, torch.compile would leave out.
SLOWED = """\
def rms(x, out):
    squares = x.sort(-1).values.square()
    out.copy_(x * (squares.mean(-1, keepdim=True) + 1e-6).rsqrt())
"""

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


def checked(root: Path, name: str, file: str) -> tuple[Result, Step]:
    exercise = catalog.find(root, name)
    request = Request(exercise, exercise.solution.with_name(file), Options(device="cuda", seed=1))
    [result] = check.run([request], lambda text: None)
    return result, next(step for step in result.steps if step.name == "speed")


@pytest.mark.parametrize(
    ("name", "file", "outcome", "least", "most"),
    [
        # Products by multiply-add units: cuBLAS reaches 0.8 of what a plain loop does.
        ("01_polynomial", "kernel.py", Outcome.PASS, 0.9, 1.6),
        ("01_polynomial", "wrong_divides.py", Outcome.FAIL, 0.05, 0.4),
        ("02_rms", "kernel.py", Outcome.PASS, 0.9, 1.1),
        ("03_product", "kernel.py", Outcome.PASS, 0.4, 1.0),
    ],
)
def test_a_share_is_of_the_bound(name: str, file: str, outcome: Outcome, least: float, most: float):
    _, step = checked(COURSE, name, file)
    assert (step.outcome, step.speed.bound) == (
        outcome,
        catalog.find(COURSE, name).spec.scored.bound,
    )
    assert least < step.speed.share < most
    assert step.speed.rate / step.speed.reference_rate == pytest.approx(step.speed.share, rel=0.01)


def test_few_programs_are_too_slow_for_the_reference():
    _, step = checked(COURSE, "02_rms", "wrong_few_programs.py")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "too_slow")


def test_a_faster_kernel_than_its_reference_is_possible(tmp_path: Path):
    """No share of another implementation is impossible."""
    root = shutil.copytree(COURSE, tmp_path / "course")
    (root / "exercises" / "02_rms" / "eager.py").write_text(SLOWED)
    _, step = checked(root, "02_rms", "kernel.py")
    assert (step.outcome, step.speed.share > 4) == (Outcome.PASS, True)


@pytest.mark.parametrize("wrong", ["out.zero_()", "x.nonsense()"])
def test_an_implementation_that_is_wrong_is_the_exercises_fault(tmp_path: Path, wrong: str):
    root = shutil.copytree(COURSE, tmp_path / "course")
    (root / "exercises" / "02_rms" / "eager.py").write_text(f"def rms(x, out):\n    {wrong}\n")
    result, step = checked(root, "02_rms", "kernel.py")
    assert (result.status, step.outcome) == (Status.ERROR, Outcome.ERROR)
    assert step.failure.message.startswith("The implementation that speed is compared with")


@pytest.mark.parametrize(("degree", "roof"), [(2, "memory"), (256, "arithmetic")])
def test_a_polynomial_is_held_to_the_lower_roof(tmp_path: Path, degree: int, roof: str):
    """A degree of 2 makes half an operation a byte, 256 makes 64: the ridge lies between."""
    root = shutil.copytree(COURSE, tmp_path / "course")
    for folder in ("exercises", "solutions"):
        for file in (root / folder / "01_polynomial").glob("*.py"):
            file.write_text(
                file.read_text()
                .replace("DEGREE = 256", f"DEGREE = {degree}")
                .replace("range(256)", f"range({degree})")
                .replace('bound="arithmetic"', 'bound="roofline"')
            )
    _, step = checked(root, "01_polynomial", "kernel.py")
    rates = {one.name: one.rate for one in step.speed.roofs}
    assert min(rates, key=rates.get) == roof
    assert step.speed.reference_rate == pytest.approx(rates[roof], rel=0.1)
    assert 0.8 < step.speed.share < 1.6
    assert f"{roof} is the lower roof" in step.speed.explanation[0]
