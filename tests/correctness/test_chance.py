"""Bounds on chances: never below the exact chance, and close enough to find what the docs say."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from grader.correctness.chance import divergence, log_chance_of_groups, log_chance_of_share
from grader.correctness.choices import unlikely_share
from grader.correctness.expected import Expected
from grader.correctness.mismatch import Mismatch


def binomial(total: int, probability: float) -> list[float]:
    return [
        math.comb(total, k) * probability**k * (1 - probability) ** (total - k)
        for k in range(total + 1)
    ]


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("total", [1, 7, 60, 300])
def test_a_share_is_at_least_as_likely_as_bounded(total: int, probability: float):
    """Every possible count, beside the exact tail on its side."""
    chances = binomial(total, probability)
    for count in range(total + 1):
        above = count >= total * probability
        exact = sum(chances[count:] if above else chances[: count + 1])
        bound = math.exp(log_chance_of_share(count / total, total, probability))
        assert min(1.0, 2 * exact) <= bound + 1e-12


def test_what_cannot_be_has_no_chance():
    assert log_chance_of_share(0.01, 100, 0.0) == -math.inf
    assert log_chance_of_share(0.99, 100, 1.0) == -math.inf
    assert log_chance_of_share(0.0, 100, 0.0) == 0.0
    assert log_chance_of_share(0.5, 0, 0.1) == 0.0


def test_the_bound_of_a_share_is_close_to_the_exact_tail():
    """A bound of no use would hold, too: at 7 deviations it is within a factor of 40."""
    total, count = 300, 71  # 30 are expected, and 5.2 is a deviation
    exact = sum(binomial(total, 0.1)[count:])
    assert exact < math.exp(log_chance_of_share(count / total, total, 0.1)) < 40 * exact


def half_dropped(total: int, dropped: int) -> Mismatch | None:
    """Return what correctness says of so many dropped elements, where half of them should be."""
    zeros = torch.zeros(total, dtype=torch.float64)
    choices = [
        Expected({"out": zeros + value}, {"out": zeros}, {"out": zeros}, 1, True, choice=name)
        for name, value in (("dropped", 0), ("kept", 1))
    ]
    choices = [replace(one, probability=0.5) for one in choices]
    got = (torch.arange(total) >= dropped).float()
    return unlikely_share(replace(choices[0], choices=tuple(choices)), "out", got)


@pytest.mark.parametrize("drawn", [0.25, 0.75], ids=["half as often", "by either of two draws"])
def test_correctness_hardly_finds_a_wrong_share(drawn: float):
    """With 128 counted elements it rejected such a kernel by luck in up to 4 % of runs. `verify`
    failed, for the step `randomness` should reject it."""
    chances = enumerate(binomial(128, drawn))
    assert sum(chance for count, chance in chances if half_dropped(128, count)) < 1e-7


@pytest.mark.parametrize("dropped", [0, 128])
def test_correctness_finds_that_all_or_none_of_a_half_are_dropped(dropped: int):
    found = half_dropped(128, dropped)
    assert found is not None
    assert found.kind == "share"


def test_groups_are_at_least_as_likely_as_bounded():
    """All outcomes of four small groups of two sizes, with their exact chance."""
    sizes, probability = np.array([3, 3, 4, 4]), 0.3
    density = {size: binomial(size, probability) for size in (3, 4)}
    outcomes = []
    for taken in itertools.product(*(range(size + 1) for size in sizes)):
        spread = sizes * probability * (1 - probability)
        value = float((((np.array(taken) - sizes * probability) ** 2) / spread).sum())
        chance = math.prod(density[int(s)][t] for s, t in zip(sizes, taken, strict=True))
        outcomes.append((value, chance, np.array(taken)))
    for value, _, taken in outcomes[::7]:
        above = sum(chance for other, chance, _ in outcomes if other >= value - 1e-9)
        below = sum(chance for other, chance, _ in outcomes if other <= value + 1e-9)
        bound = math.exp(log_chance_of_groups(taken, sizes, probability))
        assert min(1.0, 2 * min(above, below)) <= bound + 1e-9


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("alike", np.full(1024, 13)),  # each group has exactly its part: no chance is that even
        ("apart", np.array([0, 26] * 512)),
    ],
)
def test_groups_too_even_and_too_uneven_are_unlikely(name: str, taken: np.ndarray):
    assert log_chance_of_groups(taken, np.full(1024, 128), 0.1) < math.log(1e-30)


def test_groups_of_independent_elements_are_likely():
    random = np.random.default_rng(1)
    for probability in (0.02, 0.5):
        taken = random.binomial(128, probability, 1024)
        assert log_chance_of_groups(taken, np.full(1024, 128), probability) > math.log(0.01)


def test_groups_without_elements_do_not_count():
    assert log_chance_of_groups(np.array([0, 3, 0]), np.array([0, 10, 0]), 0.5) == 0.0


def test_the_divergence_is_zero_only_at_the_probability():
    assert divergence(0.1, 0.1) == 0.0
    assert divergence(0.12, 0.1) == pytest.approx(
        0.12 * math.log(1.2) + 0.88 * math.log(0.88 / 0.9)
    )
