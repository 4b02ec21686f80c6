"""The choices of a random output, and the one that each element took."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from grader.correctness.chance import LOG_OF_ONE_CASE, log_chance_of_share
from grader.correctness.dtypes import widened
from grader.correctness.error_limits import close
from grader.correctness.expected import Expected, limit_of
from grader.correctness.mismatch import Mismatch

# Elements of one case that count in its share of a choice, and at most those of a row. With more,
# correctness would reject by luck a kernel that drops half or twice as many as it should, or one
# whose blocks all have one mask. The step `randomness` finds such a kernel, and names its fault.
MOST_COUNTED = 64


def log_chances_of_shares(share: Tensor, total: Tensor, probability: Tensor) -> Tensor:
    """Return `log_chance_of_share` of each, computed on the device without waiting for it.

    It may exceed 0, and `total` is 1 or more.
    """
    parts = [(share, probability), (1 - share, 1 - probability)]
    divergence = sum(torch.xlogy(a, a) - torch.xlogy(a, b) for a, b in parts)
    return math.log(2) - total * divergence


def nearest(expected: Expected, got: Mapping[str, Tensor]) -> Expected:
    """Return what to expect where each element of `got` took the choice that it is nearest to.

    An element that equals its second right integer is expected to be that one.
    """
    if expected.also_right:
        return replace(expected, outputs={**expected.outputs, **_second_ones(expected, got)})
    if not expected.choices:
        return expected
    taken = {name: choices_taken(expected, name, each) for name, each in got.items()}

    def picked(of: Callable[[Expected], Mapping[str, Tensor]]) -> dict[str, Tensor]:
        values = dict(of(expected))
        for name, numbers in taken.items():
            for number, choice in enumerate(expected.choices):
                values[name] = torch.where(numbers == number, of(choice)[name], values[name])
        return values

    return replace(
        expected,
        outputs=picked(lambda one: one.outputs),
        in_float32=picked(lambda one: one.in_float32),
        magnitude=picked(lambda one: one.magnitude),
        choices=(),
    )


def _second_ones(expected: Expected, got: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.where(widened(got[name]) == second, second, expected.outputs[name])
        for name, second in expected.also_right.items()
        if name in got
    }


def choices_taken(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Return the number of the choice that each element equals, or else is nearest to."""
    values = widened(got)
    errors, right = [], []
    for choice in expected.choices:
        error = (values.double() - choice.outputs[name].double()).abs()
        errors.append(error.nan_to_num(nan=math.inf))
        right.append(close(values, choice.outputs[name], limit_of(choice, name, got)))
    return best_choice(torch.stack(errors), torch.stack(right))


def best_choice(errors: Tensor, right: Tensor) -> Tensor:
    """Return the row with the least error of those that are right, else of all, for each column."""
    of_right = torch.where(right, errors, math.inf)
    return torch.where(right.any(0), of_right.argmin(0), errors.argmin(0))


def choices_differ(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Mark elements at which no two choices could be taken for one another.

    That follows from the inputs, so leaving out all others changes no probability.
    """
    apart = torch.ones_like(got, dtype=torch.bool)
    for one, other in itertools.combinations(expected.choices, 2):
        gap = (one.outputs[name].double() - other.outputs[name].double()).abs()
        limits_there = limit_of(one, name, got).double() + limit_of(other, name, got).double()
        apart &= gap > limits_there
    return apart


def with_choices(found: Mismatch, expected: Expected) -> Mismatch:
    """Give a wrong element's mismatch the values of all of its choices."""
    values = [
        (choice.choice, choice.outputs[found.argument][found.index].item())
        for choice in expected.choices
    ]
    return replace(found, choices=tuple(values))


def unlikely_share(expected: Expected, name: str, got: Tensor) -> Mismatch | None:
    if not expected.choices:
        return None
    apart = choices_differ(expected, name, got)
    taken = choices_taken(expected, name, got)[apart]
    for number, choice in enumerate(expected.choices):
        count, total = int((taken == number).sum()), len(taken)
        share, few = count / max(1, total), min(total, MOST_COUNTED, got.shape[-1])
        if log_chance_of_share(share, few, choice.probability) < LOG_OF_ONE_CASE:
            return Mismatch.of_share(
                name, choice.choice, count, total, choice.probability, got.dtype
            )
    return None
