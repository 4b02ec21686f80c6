"""Masks with and without a pattern, as the step `randomness` tests them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.correctness import randomness
from grader.correctness.chance import divergence
from grader.correctness.randomness import MOST_FALSE, Draws, RandomnessTest, unlikely

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


def failing(mask: Callable[[int], Mask]) -> list[RandomnessTest]:
    return unlikely(calls_of(mask, seeds=2), SHAPE, (0.1, 0.9))[0]


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


def test_independent_masks_pass():
    found, count = unlikely(calls_of(random_mask), SHAPE, (0.1, 0.9))
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
    "the seed ignored": (lambda seed: random_mask(0), "seeds", 0),
    "the seed added": (lambda seed: random_mask(0, length=LENGTH + 9)[seed:][:LENGTH], "seeds", 1),
    "a rate of 0.105": (lambda seed: random_mask(seed, 0.105), "share", 0),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_found(name: str):
    mask, what, width = PATTERNS[name]
    found = failing(mask)
    assert [test for test in found if test.what == what and width in (None, abs(test.width))]


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


def test_elements_that_tell_nothing_are_left_out():
    """Where choices are equal, any of them may be reported."""
    calls = [
        Draws(call.seed, np.where(there, call.taken, 0), there)
        for call in calls_of(random_mask)
        for there in [random_mask(77, 0.7)]
    ]
    assert unlikely(calls, SHAPE, (0.1, 0.9))[0] == []


def test_each_of_three_choices_is_tested():
    """The first is right, and the third comes in place of the second in a pattern."""

    def taken(seed: int) -> NDArray[np.int64]:
        others = 1 + (np.arange(LENGTH) % 2)
        return np.where(random_mask(seed, 1 / 3), 0, others)

    calls = [Draws(seed, taken(seed), np.ones(LENGTH, dtype=bool)) for seed in range(2)]
    found, _ = unlikely(calls, SHAPE, (1 / 3, 1 / 3, 1 / 3))
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


def count_of_tests() -> int:
    return unlikely(calls_of(random_mask), SHAPE, (0.1, 0.9))[1]


@pytest.mark.parametrize(("asked", "actual"), [(0.1, 0.12), (0.1, 0.105), (0.5, 0.508), (0.1, 0.0)])
def test_wrong_shares_are_found(asked: float, actual: float):
    assert least_chance_of_finding(asked, actual, SEEDS * LENGTH, count_of_tests()) >= 0.999


def test_neighbours_that_are_correlated_are_found():
    """With a correlation r, pairs differ in 2 p (1 - p) (1 - r). Two elements make one pair."""
    differ = 2 * 0.1 * 0.9
    for correlation in (0.1, -0.1):
        seen = differ * (1 - correlation)
        assert least_chance_of_finding(differ, seen, LENGTH // 2, count_of_tests()) >= 0.999
