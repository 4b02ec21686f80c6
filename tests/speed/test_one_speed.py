"""Shares of a call that the host takes the time for, on a host whose speed changes."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.grading.steps.speed.measure import fair_ceiling
from grader.speed.alternation import Samples, at_one_speed, corrected_shares, quiet_rate
from grader.speed.bounds.latency import BOUND, CYCLES
from grader.speed.clock import BatchTime, Evidence, correction
from grader.speed.noise import noise_cause
from grader.speed.statistics import decide

REFERENCE_S, OVERHEAD_S, SHARE = 3e-3, 1.5e-3, 0.8
speeds = st.lists(st.sampled_from([1.0, 1.0, 1.5, 1.9]), min_size=CYCLES, max_size=CYCLES)


def batch(seconds: float, slow: float, claim: float = 1.0, late_s: float = 0.0) -> BatchTime:
    return BatchTime(slow * (seconds + OVERHEAD_S) + late_s, slow * seconds * claim, 0)


def measured(
    slow: list[float], claim: float = 1.0, beside_s: float = 0.0, jitter_s: float = 0.0
) -> Samples:
    """Cycles of a kernel at SHARE; the host takes `slow` times as long in each, for both.

    The kernel claims `claim` of its time. The reference beside it has `beside_s` more overhead.
    """
    draw = random.Random(1)

    def late() -> float:
        return draw.gauss(0, jitter_s)

    kernel = [batch(REFERENCE_S / SHARE, by, claim, late()) for by in slow]
    beside = [batch(REFERENCE_S, by, late_s=late() + beside_s) for by in slow]
    alone = [batch(REFERENCE_S, by, late_s=late()) for by in (1.5, 1.0, 1.9) * 3]
    rates = [1 / one.claimed_s for one in beside]
    shares = [r.claimed_s / k.claimed_s for k, r in zip(kernel, beside, strict=True)]
    return Samples(Evidence(alone, kernel, beside), shares, rates, work=[1.0] * len(slow))


def share(found: Samples) -> float:
    found = at_one_speed(found)
    return statistics.median(corrected_shares(found, statistics.median(found.ceilings)))


@settings(max_examples=20)
@given(speeds)
def test_a_host_that_is_slow_for_both_changes_no_share(slow: list[float]):
    assert share(measured(slow)) == pytest.approx(SHARE)


def test_a_host_that_became_slow_for_half_of_the_cycles_is_no_noise():
    found = measured([1.0, 1.5] * (CYCLES // 2))
    assert noise_cause(found, *[1 / REFERENCE_S] * 2, [], BOUND.steady) is not None
    found = at_one_speed(found)
    middle = statistics.median(found.ceilings)
    assert noise_cause(found, middle, middle, [], BOUND.steady, BOUND.leeway) is None
    assert decide(corrected_shares(found, middle), 0.5, BOUND.indifference)


@settings(max_examples=20)
@given(speeds, st.floats(0.001, 0.9))
def test_a_lie_is_raised_to_what_the_clock_shows_in_the_same_cycle(slow: list[float], claim: float):
    assert share(measured(slow, claim)) == pytest.approx(SHARE, rel=0.01)


def test_an_overhead_that_varies_raises_no_honest_claim_but_half_of_one():
    slow = [1.0, 1.5] * (CYCLES // 2)
    assert correction(at_one_speed(measured(slow, jitter_s=0.3e-3)).evidence) == pytest.approx(1)
    lie = correction(at_one_speed(measured(slow, 0.5, jitter_s=0.3e-3)).evidence)
    assert 1.8 < lie < 2.2


def test_who_delays_the_reference_beside_hides_no_lie():
    """Its overhead counts as it was before the kernel's process was started."""
    told = measured([1.0] * CYCLES, 0.5, beside_s=1e-3)
    assert correction(at_one_speed(told).evidence) == pytest.approx(2, rel=0.02)


def test_the_best_rates_with_and_without_the_kernel_are_compared():
    found = measured([1.0, 1.5] * (CYCLES // 2))
    usual, best = statistics.median_low(found.ceilings), max(found.ceilings)
    assert quiet_rate(found, [0.5 * best, 0.9 * best]) == usual  # a core that was busy then
    assert quiet_rate(found, [0.9 * best, 1.2 * best]) == pytest.approx(1.2 * usual)
    slowed = fair_ceiling([usual] * 3, 1.04 * usual, usual)
    assert slowed > usual  # and 4 % of it are taken off the share


def test_a_reference_that_was_much_faster_without_the_kernel_is_noise():
    found = at_one_speed(measured([1.0] * CYCLES))
    usual = statistics.median(found.ceilings)
    assert noise_cause(found, 1.08 * usual, usual, [], BOUND.steady) is None
    assert noise_cause(found, 1.5 * usual, usual, [], BOUND.steady) is not None
