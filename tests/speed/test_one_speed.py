"""Shares of a call that the host takes the time for, on a host whose speed changes."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.grading.steps.speed.measure import HELD_DOWN, fair_ceiling
from grader.speed.alternation import Samples, at_one_speed, corrected_shares, cycle_by_cycle
from grader.speed.bounds.latency import BOUND, CYCLES
from grader.speed.clock import (
    MAX_UNDERCLAIM_ONCE,
    BatchTime,
    Evidence,
    correction,
    corrections_once,
)
from grader.speed.noise import noise_cause
from grader.speed.statistics import decide

REFERENCE_S, OVERHEAD_S, SHARE = 3e-3, 1.5e-3, 0.8
speeds = st.lists(st.sampled_from([1.0, 1.0, 1.5, 1.9]), min_size=CYCLES, max_size=CYCLES)
# None is a tenth, beyond which a rate is not steady: there rounding decides.
slowings = st.lists(st.sampled_from([0.0, 0.05, 0.12, 0.5, 2.0]), min_size=CYCLES, max_size=CYCLES)


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
    return samples_of(alone, kernel, beside)


def slowed(found: Samples, by: list[float]) -> Samples:
    """The same cycles with batches of the reference beside the kernel that take longer."""
    beside = [
        BatchTime(one.window_s + part * one.claimed_s, (1 + part) * one.claimed_s, 0)
        for one, part in zip(found.evidence.beside, by, strict=True)
    ]
    return samples_of(found.evidence.alone, found.evidence.kernel, beside)


def samples_of(
    alone: Sequence[BatchTime], kernel: list[BatchTime], beside: list[BatchTime]
) -> Samples:
    shares = [r.claimed_s / k.claimed_s for k, r in zip(kernel, beside, strict=True)]
    rates = [1 / one.claimed_s for one in beside]
    return Samples(Evidence(alone, kernel, beside), shares, rates, work=[1.0] * len(kernel))


def graded(found: Samples, quiet_s: float = REFERENCE_S) -> tuple[float, str | None]:
    """The published share and the cause of noise, with a reference that is as quick as ever."""
    found, before, after = cycle_by_cycle(found, [0.7 / quiet_s, 1 / quiet_s], [1 / quiet_s])
    shares = corrected_shares(found, fair_ceiling(found.ceilings, before, after))
    noise = noise_cause(found, before, after, [], BOUND.steady, BOUND.leeway, BOUND.rate_name)
    return statistics.median(shares), noise


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


def test_a_kernel_that_delays_the_reference_beside_hides_no_lie():
    """Its overhead counts as it was before the kernel's process was started."""
    told = measured([1.0] * CYCLES, 0.5, beside_s=1e-3)
    assert correction(at_one_speed(told).evidence) == pytest.approx(2, rel=0.02)


def test_the_best_rates_with_and_without_the_kernel_are_compared():
    found = measured([1.0, 1.5] * (CYCLES // 2))
    best = max(found.ceilings)
    same, before, after = cycle_by_cycle(found, [0.5 * best, 0.9 * best], [0.9 * best, 1.2 * best])
    usual = statistics.median_low(found.ceilings)
    assert same.ceilings == pytest.approx([usual] * CYCLES)
    assert before == pytest.approx(usual)  # the core was busy then
    assert after == pytest.approx(1.2 * usual)
    slowed = fair_ceiling([usual] * 3, 1.04 * usual, usual)
    assert slowed > usual  # and 4 % of it are taken off the share


@pytest.mark.slow
@settings(max_examples=20)
@given(speeds, slowings)
def test_a_kernel_that_slows_the_reference_in_any_cycles_gains_no_more_than_is_held_down(
    slow: list[float], by: list[float]
):
    found, _ = graded(slowed(measured(slow), by))
    assert found <= SHARE / (1 - HELD_DOWN) * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=20)
@given(speeds, slowings, st.floats(0.01, 100))
def test_a_clock_with_another_unit_shows_the_same_share(
    slow: list[float], by: list[float], unit: float
):
    def longer(batches: Sequence[BatchTime]) -> list[BatchTime]:
        return [BatchTime(unit * one.window_s, unit * one.claimed_s, 0) for one in batches]

    found = slowed(measured(slow), by)
    seen = found.evidence
    scaled = samples_of(longer(seen.alone), longer(seen.kernel), longer(seen.beside))
    share, noise = graded(found)
    other, other_noise = graded(scaled, unit * REFERENCE_S)
    assert other == pytest.approx(share)
    assert (other_noise is None) == (noise is None)


@pytest.mark.slow
@settings(max_examples=20)
@given(speeds, slowings, st.floats(0.1, 1))
def test_best_batches_lower_a_share_and_never_raise_it(
    slow: list[float], by: list[float], claim: float
):
    found = slowed(measured(slow, claim), by)
    assert graded(found)[0] <= share(found) * (1 + 1e-9)


def test_a_reference_that_is_slowed_in_all_cycles_but_one_is_noise():
    share, noise = graded(slowed(measured([1.0] * CYCLES), [0.5] * (CYCLES - 1) + [0.0]))
    assert share == pytest.approx(SHARE, rel=0.01)
    assert noise is not None
    assert graded(slowed(measured([1.0] * CYCLES), [0.05] * (CYCLES - 1) + [0.0]))[1] is None


def test_a_reference_that_is_slowed_in_half_of_the_cycles_counts_as_in_the_others():
    share, noise = graded(slowed(measured([1.0] * CYCLES), [0.5, 0.5, 0.0, 0.0] * (CYCLES // 4)))
    assert share == pytest.approx(SHARE, rel=0.01)
    assert noise is None


def test_a_kernel_whose_best_batches_are_far_above_its_usual_ones_is_no_noise():
    found = measured([1.0] * CYCLES)
    kernel = [*found.evidence.kernel]
    kernel[:4] = [batch(REFERENCE_S / SHARE / 1.4, 1.0)] * 4
    share, noise = graded(samples_of(found.evidence.alone, kernel, found.evidence.beside))
    assert share == pytest.approx(SHARE)
    assert noise is None


def test_a_quiet_moment_that_the_reference_alone_had_lowers_no_share_unseen():
    """All batches are slow but one of the reference: chance, or a kernel that spared it."""
    found = measured([1.5] * CYCLES)
    one = found.evidence.beside[3]
    quick = BatchTime(one.window_s / 1.5, one.claimed_s / 1.5, 0)
    beside = [*found.evidence.beside[:3], quick, *found.evidence.beside[4:]]
    _, noise = graded(samples_of(found.evidence.alone, found.evidence.kernel, beside))
    assert noise is not None


@pytest.mark.parametrize("busy", [0.25, 0.5, 0.75], ids=str)
def test_a_call_that_waits_for_the_gpu_is_compared_on_a_quiet_core(busy: float):
    """It takes as long on a slow core, where the reference takes longer."""
    found = measured([1.9 if cycle < busy * CYCLES else 1.0 for cycle in range(CYCLES)])
    kernel = [batch(2 * REFERENCE_S, 1.0)] * CYCLES
    share, noise = graded(samples_of(found.evidence.alone, kernel, found.evidence.beside))
    assert share == pytest.approx(0.5, rel=0.01)
    assert noise is None


def test_one_claim_among_the_best_batches_is_held_to_the_clock():
    """Else a kernel that slows the reference would claim less in one batch, too."""
    found = slowed(measured([1.0] * CYCLES), [0.5] * (CYCLES - 2) + [0.0] * 2)
    kernel, lies = [*found.evidence.kernel], slice(CYCLES - 2, CYCLES)
    kernel[lies] = [BatchTime(one.window_s, one.claimed_s / 1.5, 0) for one in kernel[lies]]
    share, _ = graded(samples_of(found.evidence.alone, kernel, found.evidence.beside))
    assert share <= SHARE / (1 - MAX_UNDERCLAIM_ONCE) / (1 - HELD_DOWN)


def test_an_overhead_that_varies_raises_hardly_a_single_claim():
    raised = corrections_once(at_one_speed(measured([1.0] * CYCLES, jitter_s=0.2e-3)).evidence)
    assert raised == [1.0] * CYCLES
    lie = corrections_once(at_one_speed(measured([1.0] * CYCLES, 0.4)).evidence)
    assert lie == pytest.approx([(1 - MAX_UNDERCLAIM_ONCE) / 0.4] * CYCLES)


def test_a_reference_that_was_much_faster_without_the_kernel_is_noise():
    found = at_one_speed(measured([1.0] * CYCLES))
    usual = statistics.median(found.ceilings)
    assert noise_cause(found, 1.08 * usual, usual, [], BOUND.steady) is None
    assert noise_cause(found, 1.5 * usual, usual, [], BOUND.steady) is not None
