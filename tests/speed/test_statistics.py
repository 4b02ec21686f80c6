"""The sequential test, the interval and the spread, on samples whose truth is known."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.speed.bounds.latency import INDIFFERENCE as ROUGH
from grader.speed.statistics import INDIFFERENCE, RERUN, decide, interval, interval_of_runs, spread

GATE = 0.6
shares = st.lists(st.floats(0.05, 1.5), min_size=8, max_size=24)


def measured(truth: float, deviation: float, count: int, seed: int) -> list[float]:
    """Samples with normal errors, of which one in fifty is a heavy, slow outlier."""
    draw = random.Random(seed)
    return [
        truth
        * math.exp(draw.gauss(0, deviation) - (8 * deviation if draw.random() < 0.02 else 0.0))
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("deviation", "indifference"),
    [(0.001, INDIFFERENCE), (0.005, INDIFFERENCE), (0.01, INDIFFERENCE), (0.1, ROUGH)],
)
@pytest.mark.parametrize("side", [-1, 1])
def test_no_wrong_decision_in_a_thousand_at_the_edge_of_indifference(
    side: int, deviation: float, indifference: float
):
    truth = GATE * (1 + side * indifference)
    wrong = 0
    for seed in range(1000):
        samples = measured(truth, deviation, 24, seed)
        first = next(
            (d for n in range(5, 25) if (d := decide(samples[:n], GATE, indifference)) is not None),
            None,
        )
        wrong += first is not None and first != (side > 0)
    assert wrong == 0


@given(samples=shares, gate=st.floats(0.1, 1.0), scale=st.floats(0.1, 10))
def test_only_the_ratio_to_the_gate_counts(samples: list[float], gate: float, scale: float):
    scaled = decide([share * scale for share in samples], gate * scale)
    assert scaled == decide(samples, gate) or decide(samples, gate) is None or scaled is None


@given(truth=st.floats(0.1, 1.0), above=st.booleans())
def test_quiet_samples_far_from_the_gate_are_decided(truth: float, above: bool):
    gate = truth * (0.9 if above else 1.1)
    assert decide([truth] * 5, gate) is above


def test_at_the_gate_itself_nothing_is_decided():
    assert (
        decide([GATE * f for f in (0.999, 1.001, 0.998, 1.002, 1.0, 1.0, 0.999, 1.001)], GATE)
        is None
    )


def test_a_rough_bound_decides_what_is_far_from_its_gate():
    """As calls on a small input were seen on an H100: they differ by a quarter of their time."""
    samples = measured(0.99, 0.25, 20, seed=2)
    assert decide(samples, 0.4) is None
    assert decide(samples, 0.4, ROUGH) is True
    assert decide(samples, 0.95, ROUGH) is None


def test_samples_too_wide_for_their_distance_are_not_decided():
    wide = [GATE * f for f in (0.7, 1.3, 0.8, 1.35, 0.75, 1.25, 0.9, 1.2)]
    assert decide(wide, GATE) is None


def test_a_single_wild_sample_does_not_outweigh_the_others():
    """Without the clipping its evidence alone would be five times that of all others."""
    below = [GATE * f for f in (0.979, 0.981, 0.978, 0.982, 0.98, 0.98, 0.979)]
    assert decide([*below, GATE * 3], GATE) is False


def test_lies_in_just_under_half_of_the_goes_pass_no_gate():
    """Most samples lie 3 % below the gate; without the look at the median the others outweighed
    them, clipped as they are."""
    honest = [0.98] * 2 + [0.99] * 6 + [1.0] * 5
    lied = [1.107] * 5 + [1.118] * 4 + [1.25] * 2
    samples = [share * GATE / 1.03 for share in honest + lied]
    assert statistics.median(samples) < GATE / 1.02
    assert decide(samples, GATE) is None


def test_a_share_that_is_published_above_the_gate_is_not_failed():
    """Of an even number of samples the median lies above that of their logarithms."""
    logarithms = [-0.0206] + [-0.1606] * 11 + [0.0194] * 12
    samples = [GATE * math.exp(x - 0.0004) for x in logarithms]
    assert statistics.median(samples) < GATE
    raised = [share * GATE / statistics.median(samples) * 1.00005 for share in samples]
    assert statistics.median([math.log(share / GATE) for share in raised]) < 0
    assert decide(raised, GATE) is None


@given(samples=shares, gate=st.floats(0.1, 1.0))
def test_a_decision_is_never_against_the_share_that_is_published(samples: list[float], gate: float):
    decided, share = decide(samples, gate), statistics.median(samples)
    assert decided is None or decided is (share > gate)


@pytest.mark.slow
@given(samples=shares)
def test_the_interval_holds_the_median_and_lies_within_the_samples(samples: list[float]):
    low, high = interval(samples)
    assert min(samples) <= low <= high <= max(samples)
    ordered = sorted(samples)
    assert low <= ordered[len(ordered) // 2]
    assert high >= ordered[(len(ordered) - 1) // 2]


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        draw = random.Random(seed)
        low, high = interval([math.exp(draw.gauss(0, 0.01)) for _ in range(16)])
        hits += low <= 1.0 <= high
    assert 178 <= hits <= 200  # 95 % of 200 is 190, with a deviation of 3


@pytest.mark.slow
@given(samples=shares)
def test_what_differs_from_run_to_run_widens_the_interval(samples: list[float]):
    middle, (low, high) = statistics.median(samples), interval_of_runs(samples)
    within = interval(samples)
    assert low <= within[0]
    assert high >= within[1]
    assert middle - low >= RERUN * middle * 0.999
    assert middle - low <= (middle - within[0] + RERUN * middle) * 1.001
    assert high - middle <= (within[1] - middle + RERUN * middle) * 1.001


@pytest.mark.slow
def test_two_runs_of_one_kernel_are_told_apart_about_as_seldom_as_the_interval_says():
    """Samples of one run agree to 0.05 %, and another run differs by more than that: two students
    with one kernel stood on ranks 1 and 2."""

    def run(draw: random.Random) -> tuple[float, float]:
        middle = 0.65 * math.exp(draw.gauss(0, 0.001))
        return interval_of_runs([middle * math.exp(draw.gauss(0, 0.0005)) for _ in range(5)])

    covered = apart = 0
    for seed in range(200):
        draw = random.Random(seed)
        one, other = run(draw), run(draw)
        covered += one[0] <= 0.65 <= one[1]
        apart += one[1] < other[0] or other[1] < one[0]
    assert 178 <= covered <= 200  # 95 % of 200 is 190, with a deviation of 3
    assert apart <= 4  # two intervals of 95 % are apart in 0.6 % of pairs, with a deviation of 1.1


@given(value=st.floats(1, 1e12), count=st.integers(8, 24))
def test_equal_values_have_no_spread(value: float, count: int):
    assert spread([value] * count) == 0


def test_one_outlier_of_ten_does_not_widen_the_spread():
    assert spread([100.0] * 9 + [50.0]) == 0
    assert spread([100.0] * 8 + [50.0, 50.0]) == pytest.approx(0.5)
