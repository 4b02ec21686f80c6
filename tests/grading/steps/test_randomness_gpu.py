"""A kernel that draws on a GPU: its draws are tested there, and its timed calls held to choices."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Outcome
from grader.model.results import Step

DROPOUT = catalog.find(Path(__file__).parents[2] / "courses" / "draws", "01_dropout_residual")

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


def checked(file: Path) -> dict[str, Step]:
    request = Request(DROPOUT, file, Options(device="cuda", seed=1))
    [result] = check.run([request], lambda text: None)
    return {step.name: step for step in result.steps}


def test_the_solution_passes_each_step():
    """Its gate is low: what is tested is that drawn outputs are accepted at the scored size."""
    steps = checked(DROPOUT.solution)
    assert {name for name, step in steps.items() if step.outcome is not Outcome.PASS} == set()


@pytest.mark.parametrize("name", ["same_rows", "ignores_seed", "counter", "address", "bits_of_x"])
def test_a_wrong_kernel_fails_for_its_draws(name: str):
    steps = checked(DROPOUT.solution.with_name(f"wrong_{name}.py"))
    assert steps["randomness"].outcome is Outcome.FAIL
    assert steps["randomness"].failure.kind in ("not_random", "not_reproducible")


def test_drops_of_all_elements_fail_at_the_scored_size(tmp_path: Path):
    """A file that recognizes large cases, where it reads no x and copies the residual."""
    text = DROPOUT.solution.read_text(encoding="utf-8")
    launch = "    drop_rows[(rows,)]"
    assert text.count(launch) == 1
    file = tmp_path / "drops_all.py"
    file.write_text(text.replace(launch, f"    p = 1.0 if rows > 2000 else p\n{launch}"))
    steps = checked(file)
    assert steps["randomness"].outcome is Outcome.PASS
    failed = next(step for step in steps.values() if step.outcome is Outcome.FAIL)
    assert (failed.name, failed.failure.kind) in {("memory", "share"), ("speed", "share")}
