"""Bounds on the chance that a right kernel draws what was seen, as natural logarithms.

All of them hold for the actual number of elements, however small: nothing is taken to be normal.

- A share: of n independent elements, each with probability p, a part of a or more has at most the
  chance exp(-n · D(a, p)), where D(a, p) = a · ln(a / p) + (1 - a) · ln((1 - a) / (1 - p)) for a
  above p; likewise below p (Chernoff and Hoeffding). It also holds for unequal probabilities, with
  their mean for p.
- Chi-square: T is the sum over groups of (x - m · p)² / (m · p · (1 - p)), where x of the group's m
  elements take the choice. Chernoff's bound is exp(-λ · t) · E[exp(λ · T)] for each λ, above 0 for
  T of t or more, below 0 for t or less. The expectation is summed over all x of each group.

The two sides of a test together have twice the chance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# The chance that one comparison of an output finds the share of a right kernel unlikely. A check
# makes at most a few hundred comparisons.
LOG_OF_ONE_CASE = math.log(1e-12)

UP = np.linspace(0.02, 0.48, 24)  # λ of the upper tail; a normal T² has no mean from 0.5 on
DOWN = -np.geomspace(0.05, 20.0, 24)

Counts = NDArray[np.int64]


def divergence(share: float, probability: float) -> float:
    """Return D(share, probability), as above: infinite for what cannot be."""

    def part(a: float, b: float) -> float:
        if a == 0:
            return 0.0
        return a * math.log(a / b) if b > 0 else math.inf

    return part(share, probability) + part(1 - share, 1 - probability)


def log_chance_of_share(share: float, total: int, probability: float) -> float:
    """Bound the chance of a share at least as far from `probability` on its side, of both sides."""
    if total == 0:
        return 0.0
    return min(0.0, math.log(2) - total * divergence(share, probability))


def log_chance_of_groups(taken: Counts, sizes: Counts, probability: float) -> float:
    """Bound the chance of shares that differ this much, or this little, from group to group.

    `taken` of the `sizes` elements of each group take a choice.
    """
    there = sizes > 0
    taken, sizes = taken[there], sizes[there]
    if not 0 < probability < 1 or len(sizes) < 2:
        return 0.0
    spread = sizes * probability * (1 - probability)
    total = float(((taken - sizes * probability) ** 2 / spread).sum())
    logs = {
        side: -lambdas * total + _log_moments(sizes, probability, lambdas)
        for side, lambdas in (("above", UP), ("below", DOWN))
    }
    return min(0.0, math.log(2) + min(float(each.min()) for each in logs.values()))


def _log_moments(
    sizes: Counts, probability: float, lambdas: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln E[exp(λ · T)] for each λ."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sizes.max() + 1)))])
    whole = np.zeros(len(lambdas))
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        x = np.arange(size + 1)
        log_density = (
            factorials[size]
            - factorials[: size + 1]
            - factorials[: size + 1][::-1]
            + x * math.log(probability)
            + (size - x) * math.log1p(-probability)
        )
        term = (x - size * probability) ** 2 / (size * probability * (1 - probability))
        exponents = log_density + lambdas[:, None] * term
        most = exponents.max(axis=1)
        whole += count * (most + np.log(np.exp(exponents - most[:, None]).sum(axis=1)))
    return whole
