"""Outputs without work: which of them a case need not tell from the right ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from grader.course import Exercise, catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.correctness import no_work
from grader.model.arguments import Inputs
from grader.model.cases import Case
from grader.model.outcomes import Outcome
from grader.sandbox.fork_servers import ForkServers

ROOT = Path(__file__).parents[3]
LINEAR = catalog.find(ROOT, "07_fused_linear_cross_entropy")  # a number, and two matrices
LOSS = catalog.find(ROOT, "06_cross_entropy")
SIZES = Case((7, 5, 31), "float32"), Case((20, 16, 40), "bfloat16"), Case((9, 8, 33), "float16")


def pretended(fork_servers: ForkServers, answer: str, **tolerance: object) -> Finding:
    return found_by(fork_servers, LINEAR, answer, SIZES, **tolerance)


def found_by(
    fork_servers: ForkServers,
    exercise: Exercise,
    answer: str,
    cases: Sequence[Case],
    seed: int = 1,
    **tolerance: object,
) -> Finding:
    options = Options(device="cpu", seed=seed, pretend=answer, shrink=False)
    grading = Grading(exercise, exercise.solution, options, fork_servers)
    changed = replace(grading.spec.tolerance, **tolerance)
    grading.spec = replace(grading.spec, edges=cases[:-1], counted=cases[-1], tolerance=changed)
    found = no_work.every_case(grading)
    grading.close()
    return found


def test_the_mean_of_one_number_is_right_and_that_of_a_row_is_not(fork_servers: ForkServers):
    """No case can reject the mean of a loss. Verify called that a fault of the exercise, though
    each case rejects the gradients beside it."""
    assert pretended(fork_servers, "constant_mean").outcome is Outcome.FAIL


def test_a_loss_that_is_0_in_one_draw_is_drawn_again(
    fork_servers: ForkServers, monkeypatch: pytest.MonkeyPatch
):
    """Both rows of this draw are sure of their targets. Verify passed or failed with the seed."""
    sure = Case((2, 2), "float16"), Case((33, 40), "float32")
    assert found_by(fork_servers, LOSS, "zeros", sure, seed=20).outcome is Outcome.FAIL
    monkeypatch.setattr(no_work, "MOST_DRAWS", 1)
    assert "2 × 2 in float16" in found_by(fork_servers, LOSS, "zeros", sure, seed=20).summary


def test_a_lower_precision_is_rejected_where_nothing_in_between_has_16_bits(
    fork_servers: ForkServers,
):
    """Logits in bfloat16 lose as much as an output in a lower precision. float32 must tell."""
    assert pretended(fork_servers, "lower_precision").outcome is Outcome.FAIL


@pytest.mark.parametrize("output", ["dx", "dweight"])
def test_float32_that_may_lose_as_much_by_its_magnitude_is_a_fault(
    fork_servers: ForkServers, output: str
):
    magnitude = LINEAR.spec.tolerance.magnitude

    def loose(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        sizes = magnitude(inputs, expected)
        return {**sizes, output: 1000 * sizes[output]}

    found = pretended(fork_servers, "lower_precision", magnitude=loose)
    assert found.outcome is not Outcome.FAIL
    assert f"7 × 5 × 31 in float32 ({output})" in found.summary
