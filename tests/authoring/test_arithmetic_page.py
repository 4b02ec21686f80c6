"""Follow docs/arithmetic.md to the letter: its reader ends with an exercise bound by arithmetic."""

from __future__ import annotations

import json

import pytest
from guide import WALKS, Break, Command, a_course, followed
from pages import ROOT, shape

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.model.outcomes import Outcome
from grader.model.results import Speed
from grader.reports.figures import speed_rows
from grader.speed.bounds import bound_of

pytestmark = pytest.mark.slow

WALK = WALKS[1]
TEXT = " ".join(WALK.page.read_text(encoding="utf-8").split())
RECORD = json.loads((ROOT / "bench" / "results" / "accuracy_bounds_h100.json").read_text())
MEASURED = next(row for row in RECORD["bounds"]["rows"] if row["exercise"] == "03_product")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The exercise that stands there in the end. Every command prints what the page shows."""
    folder = a_course(tmp_path_factory.mktemp("course"))
    for command, code, printed, errors in followed(folder, WALK):
        assert code == 0, f"{command.line}: {errors}\n{printed}"
        if command.language == "console":
            assert shape(printed) == shape(command.output), (
                f"{command.line}: `python tests/guide.py` updates the page"
            )
    return catalog.find(folder, WALK.name)


def test_an_author_who_follows_the_page_has_a_verified_exercise(made: Exercise):
    assert bound_of(made.spec).name == "arithmetic"
    verdict = next(s for s in WALK.steps if isinstance(s, Command) and "verify" in s.line)
    assert "solution passes · 6 wrong kernels rejected" in verdict.output
    assert len(made.wrong_kernels) == len([s for s in WALK.steps if isinstance(s, Break)]) == 6


def test_the_page_counts_operations_and_bytes_as_the_spec_does(made: Exercise):
    case = made.spec.scored_specs[0].scored
    rows, columns = case.rows, case.columns
    flops = made.spec.flops(made.spec.sample_case) * rows
    moved = 2 * (2 * rows * columns + columns**2)
    assert f"{rows:,} × {columns:,} times {columns:,} × {columns:,} in bfloat16" in TEXT
    assert f"| {flops / moved:,.0f} |" in TEXT


def test_the_page_shows_the_figures_of_a_run():
    rate, reference = MEASURED["rate"], MEASURED["reference_rate"]
    shown = Speed(
        case="8,192 × 4,096 in bfloat16",
        bound="arithmetic",
        bytes_moved=1,
        time_ms=2 * 8192 * 4096**2 / rate / 1e9,
        bandwidth_gbps=1.0,
        ceiling_gbps=1.0,
        rate=rate,
        reference_rate=reference,
        share=MEASURED["share"],
        share_low=0.7,
        share_high=0.8,
        passing=0.4,
        great=0.9,
        goes=10,
        calls_per_go=16,
        first_call_s=0.1,
        latency_case="",
        latency_us=1.0,
    )
    assert " ".join("".join(speed_rows(shown, 80).plain).split()[:17]) in TEXT
    assert f"| an H100 | {reference:,.0f} TFLOP/s in bfloat16 |" in TEXT


@pytest.mark.gpu
def test_the_solution_reaches_its_gate(made: Exercise):
    request = check.Request(made, made.solution, Options(device="cuda", seed=1))
    [result] = check.run([request], lambda text: None)
    step = next(step for step in result.steps if step.name == "speed")
    assert (step.outcome, step.speed.bound) == (Outcome.PASS, "arithmetic")
