"""What the judge believes of a worker's own times, with workers that lie in known ways."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import clock
from grader.clock import TRUST, Go, correction

OVERHEAD = 0.001
TRUSTED = [Go(0.025, 0.02), Go(0.02 + OVERHEAD, 0.02), Go(0.03, 0.02)]
durations = st.floats(0.005, 0.2)
delays = st.lists(st.floats(0, 0.05), min_size=4, max_size=20)


def goes(took_s: float, claimed_s: float, late_s: list[float]) -> list[Go]:
    """Goes of a kernel whose work takes `took_s`, on a machine that adds other delays."""
    return [Go(took_s + OVERHEAD + late, claimed_s) for late in [*late_s, 0.0]]


@given(took=durations, late=delays)
def test_an_honest_claim_is_believed_whatever_delays_the_machine(took: float, late: list[float]):
    assert correction(goes(took, took, late), TRUSTED) == 1.0


@given(took=durations, late=delays, factor=st.floats(0.01, 1.0))
def test_a_lie_gains_at_most_the_trust(took: float, late: list[float], factor: float):
    lied = goes(took, took * factor, late)
    believed = correction(lied, TRUSTED) * statistics.median(one.claimed_s for one in lied)
    assert believed >= took * (1 - TRUST) * (1 - 1e-9)


@given(took=durations, factor=st.floats(1.0, 3.0))
def test_who_claims_more_than_the_judge_saw_is_taken_at_his_word(took: float, factor: float):
    assert correction(goes(took, took * factor, []), TRUSTED) == 1.0


def test_who_claims_no_time_at_all_gets_no_finite_speed():
    assert correction(goes(0.02, 0.0, []), TRUSTED) == float("inf")


@pytest.mark.parametrize("claim", [0.0, 5e-324])
def test_a_claim_of_nothing_can_be_calculated_with(monkeypatch: pytest.MonkeyPatch, claim: float):
    class Liar:
        def call(self, calls: list[object]) -> None: ...

        def prepare(self, calls: list[object]) -> None: ...

        def go(self) -> tuple[float, ...]:
            return (claim,)

    monkeypatch.setattr(clock.torch.cuda, "synchronize", lambda: None)
    told, _ = clock.go(Liar(), [[]], [])  # type: ignore[arg-type]
    assert math.isfinite(1e12 / told.claimed_s)
    assert statistics.geometric_mean([told.claimed_s]) > 0
    assert math.isfinite(correction([told], TRUSTED))


def test_what_is_seen_is_the_window_less_the_least_overhead_of_a_trusted_worker():
    lied = goes(0.02, 0.01, [0.004])
    assert correction(lied, TRUSTED) == pytest.approx((1 - TRUST) * 2)
