"""Masks with and without a pattern, as the step `randomness` tests them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from pages import ROOT, rows, section

from grader.correctness import randomness
from grader.correctness.chance import LOG_OF_ONE_CASE, divergence
from grader.correctness.randomness import MOST_FALSE, Draws, RandomnessTest, unlikely

PAGE = ROOT / "docs" / "randomness.md"
SHAPE = (128, 1024)  # of the case that docs/randomness.md advises
SEEDS = 4
LENGTH = math.prod(SHAPE)
Mask = NDArray[np.bool_]


def random_mask(seed: int, share: float = 0.1, length: int = LENGTH) -> Mask:
    return np.random.default_rng(seed).random(length) < share


def calls_of(mask: Callable[[int], Mask], seeds: int = SEEDS) -> list[Draws]:
    """Make calls whose choice 0 is where the mask of a seed is set."""
    masks = [mask(seed) for seed in range(seeds)]
    return [Draws(n, 1 - each.astype(int), np.ones_like(each)) for n, each in enumerate(masks)]


def failing(mask: Callable[[int], Mask], seeds: int) -> list[RandomnessTest]:
    return unlikely(calls_of(mask, seeds), SHAPE, (0.1, 0.9))[0]


def evenly_spaced(seed: int) -> Mask:
    return (np.arange(LENGTH) * 0.6180339887 + seed / 7) % 1 < 0.1


def stratified(seed: int) -> Mask:
    """One of each ten elements, at a random place: too even to be independent."""
    mask = np.zeros((LENGTH // 10 + 1, 10), dtype=bool)
    rows = np.arange(len(mask))
    mask[rows, np.random.default_rng(seed).integers(0, 10, len(mask))] = True
    return mask.flatten()[:LENGTH]


def correlated(seed: int) -> Mask:
    """Each element takes its neighbour's choice with a probability of 0.1."""
    mask, copied = random_mask(seed), random_mask(seed + 100)
    return np.where(copied, np.roll(mask, 1), mask)


def mixed_rows(seed: int) -> Mask:
    """The share is right, but each row has a share of its own."""
    shares = np.random.default_rng(seed).uniform(0.05, 0.15, (SHAPE[0], 1))
    return (np.random.default_rng(seed + 50).random(SHAPE) < shares).flatten()


def mixed_columns(seed: int) -> Mask:
    """The share is right, but each column has a share of its own."""
    shares = np.random.default_rng(seed).uniform(0.05, 0.15, (1, SHAPE[1]))
    return (np.random.default_rng(seed + 50).random(SHAPE) < shares).flatten()


@functools.cache  # it takes seconds, and several tests look at it
def all_of_a_step() -> tuple[list[RandomnessTest], int]:
    return unlikely(calls_of(random_mask), SHAPE, (0.1, 0.9))


@pytest.mark.slow
def test_independent_masks_pass():
    found, count = all_of_a_step()
    assert (found, count > 1000) == ([], True)


PATTERNS = {
    "each row the same": (lambda seed: np.tile(random_mask(seed, length=1024), 128), "lag", 1024),
    "each block the same": (lambda seed: np.tile(random_mask(seed, length=256), 512), "lag", 256),
    "blocks of 96 threads": (
        lambda seed: np.resize(random_mask(seed, length=96 * 1), LENGTH),
        "lag",
        96,
    ),
    "two rows the same": (lambda seed: np.tile(random_mask(seed, length=2048), 64), "lag", 2048),
    "one for four": (lambda seed: np.repeat(random_mask(seed, length=LENGTH // 4), 4), "lag", 1),
    "evenly spaced": (evenly_spaced, "lag", None),
    "stratified": (stratified, "run", None),
    "correlated": (correlated, "lag", 1),
    "rows of other shares": (mixed_rows, "run", 1024),
    "columns of other shares": (mixed_columns, "residue", 1024),
    "the seed ignored": (lambda seed: random_mask(0), "seeds", 0),
    "the seed added": (lambda seed: random_mask(0, length=LENGTH + 9)[seed:][:LENGTH], "seeds", 1),
    "a rate of 0.105": (lambda seed: random_mask(seed, 0.105), "share", 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_found(name: str):
    mask, what, width = PATTERNS[name]
    # These two count in several calls. Each other test looks at one call by itself.
    found = failing(mask, seeds=2 if what in ("share", "seeds") else 1)
    assert [test for test in found if test.what == what and width in (None, abs(test.width))]


def test_two_rows_of_any_length_that_come_again_are_found():
    """2,000 is neither a power of two nor the size of a block."""
    shape, again = (100, 1000), np.tile(random_mask(3, length=2000), 50)
    found, _ = unlikely(calls_of(lambda seed: again, seeds=1), shape, (0.1, 0.9))
    assert ("lag", 2000, 0) in {(test.what, test.width, test.count) for test in found}


@pytest.mark.slow
def test_right_masks_fail_as_seldom_as_stated(monkeypatch: pytest.MonkeyPatch):
    """With a rate of 0.2 instead of 1e-9, which could not be seen; the bounds make it less."""
    monkeypatch.setattr(randomness, "MOST_FALSE", 0.2)
    trials, shape = 60, (16, 64)
    rejected = 0
    for trial in range(trials):

        def mask(seed: int, trial: int = trial) -> Mask:
            return random_mask(1000 * trial + seed, length=1024)

        rejected += bool(unlikely(calls_of(mask, seeds=2), shape, (0.1, 0.9))[0])
    assert rejected <= 0.2 * trials


@pytest.mark.slow
def test_elements_that_tell_nothing_are_left_out():
    """Any of several equal choices may be reported."""
    calls = [
        Draws(call.seed, np.where(there, call.taken, 0), there)
        for call in calls_of(random_mask, seeds=2)
        for there in [random_mask(77, 0.7)]
    ]
    assert unlikely(calls, SHAPE, (0.1, 0.9))[0] == []


def test_each_of_three_choices_is_tested():
    """The first is right, and the third comes in place of the second in a pattern."""

    def taken(seed: int) -> NDArray[np.int64]:
        others = 1 + (np.arange(LENGTH) % 2)
        return np.where(random_mask(seed, 1 / 3), 0, others)

    found, _ = unlikely(
        [Draws(0, taken(0), np.ones(LENGTH, dtype=bool))], SHAPE, (1 / 3, 1 / 3, 1 / 3)
    )
    assert {test.choice for test in found} == {1, 2}


# -- the power, as docs/randomness.md states it


def least_chance_of_finding(asked: float, actual: float, total: int, tests: int) -> float:
    """Return a lower bound of the chance that the test of a share rejects another share.

    The largest share that passes is found by halving, and Chernoff's bound is used again.
    """
    limit = math.log(2 * tests / MOST_FALSE) / total
    low, high = (asked, actual)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle, asked) < limit else (low, middle)
    if divergence(actual, asked) < limit:
        return 0.0
    return 1 - math.exp(-total * divergence(high, actual))


@pytest.fixture(scope="module")
def tests_of_a_step() -> int:
    return all_of_a_step()[1]


def stated() -> list[tuple[float, float, float, float]]:
    """Return rows of the page: the share asked for, those found above and below, correlation."""
    table = rows(section(PAGE, "How often it is wrong"))
    return [
        (float(asked), *map(float, re.findall(r"0\.\d+", shares)), float(correlation))
        for asked, shares, correlation in table
    ]


@pytest.mark.parametrize(("asked", "above", "below", "correlation"), stated())
def test_wrong_shares_and_correlations_are_found_as_stated(
    asked: float, above: float, below: float, correlation: float, tests_of_a_step: int
):
    """With a correlation r, pairs differ in 2 p (1 - p) (1 - r). Two elements make one pair."""
    for actual in (above, below):
        chance = least_chance_of_finding(asked, actual, SEEDS * LENGTH, tests_of_a_step)
        assert chance >= 0.999
    differ = 2 * asked * (1 - asked)
    for sign in (1, -1):
        actual = differ * (1 - sign * correlation)
        assert least_chance_of_finding(differ, actual, LENGTH // 2, tests_of_a_step) >= 0.999


def test_a_smaller_case_finds_what_is_stated(tests_of_a_step: int):
    text = " ".join(section(PAGE, "How often it is wrong").split())
    found = re.search(r"20,000 elements that is (\S+) and (\S+) for 0\.1, .* of (\S+)\. A", text)
    above, below, correlation = map(float, found.groups())
    for actual in (above, below):
        assert least_chance_of_finding(0.1, actual, SEEDS * 20_000, tests_of_a_step) >= 0.999
    differ = 2 * 0.1 * 0.9
    actual = differ * (1 - correlation)
    assert least_chance_of_finding(differ, actual, 20_000 // 2, tests_of_a_step) >= 0.999


def test_a_share_of_0_12_instead_of_0_1_is_found_surely(tests_of_a_step: int):
    assert least_chance_of_finding(0.1, 0.12, SEEDS * LENGTH, tests_of_a_step) > 1 - 1e-9
    assert least_chance_of_finding(0.1, 0.1, SEEDS * LENGTH, tests_of_a_step) == 0.0


def test_the_page_has_the_rate_and_the_number_of_tests(tests_of_a_step: int):
    text = section(PAGE, "How often it is wrong")
    assert "at most 10⁻⁹" in " ".join(text.split())
    assert MOST_FALSE == 1e-9
    assert math.exp(LOG_OF_ONE_CASE) == pytest.approx(1e-12)
    assert f"about\n{round(tests_of_a_step, -2):,} tests" in text
