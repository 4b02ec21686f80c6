"""Tests of what a kernel drew: how often, independently of the place, and anew for each seed.

Each test counts something whose distribution is known exactly if all elements are independent, and
bounds the chance of a count as far off (`chance.py`):

- share: how many elements of all calls took a choice.
- runs, residues: how many in each run of so many elements that follow each other, row by row, and
  how many at each place within such runs; a row and a column are one of each.
- lag: how many pairs of elements so far apart differ. No element is in two pairs.
- seeds: how many places differ between the calls with two seeds, one of them shifted.

A kernel is rejected for a chance below MOST_FALSE / number of tests. So it rejects a right kernel
with a probability of at most MOST_FALSE, however the tests depend on one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.correctness.chance import log_chance_of_groups, log_chance_of_share

MOST_FALSE = 1e-9
LAGS = 1024  # every lag up to here, and powers of two beyond: no GPU has larger blocks of threads
ROWS_APART = 8
SHIFTS = 64  # places by which one seed's draws may lie beside another's, and powers of two to LAGS
LEAST_GROUPS = 8

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Draws:
    """The choices in one output of one call, flat and row by row.

    `taken` has the number of each element's choice; `telling` marks elements whose choices differ.
    """

    seed: int
    taken: NDArray[np.int64]
    telling: Marks


@dataclass(frozen=True)
class RandomnessTest:
    """One test of one choice, and its result.

    `what` is share, run, residue, lag or seeds. `width` is the length of a run, the lag, or the
    shift. `count` of `total` elements or pairs took the choice, or differ, and a share of `asked`
    of them should. `seeds` are those of the calls.
    """

    what: str
    choice: int
    width: int
    count: int
    total: int
    asked: float
    log_chance: float
    seeds: tuple[int, ...]


def unlikely(
    calls: Sequence[Draws], shape: Sequence[int], probabilities: Sequence[float]
) -> tuple[list[RandomnessTest], int]:
    """Return the tests that a right kernel hardly ever fails and these calls do, and all tests.

    `calls` have one output of `shape`, each with another seed. Where there are two choices, each
    test of one is that of the other as well.
    """
    numbers = range(1 if len(probabilities) == 2 else len(probabilities))
    tests = [
        test
        for number in numbers
        for test in _tests_of(calls, shape, number, probabilities[number])
    ]
    limit = math.log(MOST_FALSE / len(tests))
    return [test for test in tests if test.log_chance < limit], len(tests)


def _tests_of(
    calls: Sequence[Draws], shape: Sequence[int], choice: int, probability: float
) -> Iterator[RandomnessTest]:
    differ = 2 * probability * (1 - probability)
    marks = [call.taken == choice for call in calls]
    every = tuple(call.seed for call in calls)
    count = sum(int(each[call.telling].sum()) for call, each in zip(calls, marks, strict=True))
    total = sum(int(call.telling.sum()) for call in calls)
    log_chance = _log_chance(count, total, probability)
    yield RandomnessTest("share", choice, 0, count, total, probability, log_chance, every)
    for call, each in zip(calls, marks, strict=True):
        for lag in _lags(len(each), shape):
            found, pairs = _pairs(each, call.telling, lag)
            log_chance = _log_chance(found, pairs, differ)
            yield RandomnessTest("lag", choice, lag, found, pairs, differ, log_chance, (call.seed,))
        yield from _tests_of_groups(call, each, shape, choice, probability)
    first, *others = zip(calls, marks, strict=True)
    for other in others:
        for shift in _shifts(len(first[1])):
            found, pairs = _pairs_of_two(first, other, shift)
            log_chance = _log_chance(found, pairs, differ)
            seeds = (first[0].seed, other[0].seed)
            yield RandomnessTest("seeds", choice, shift, found, pairs, differ, log_chance, seeds)


def _tests_of_groups(
    call: Draws, marks: Marks, shape: Sequence[int], choice: int, probability: float
) -> Iterator[RandomnessTest]:
    place = np.arange(len(marks))
    for width in _widths(len(marks), shape):
        for what, group in (("run", place // width), ("residue", place % width)):
            sizes = np.bincount(group[call.telling])
            taken = np.bincount(group[call.telling & marks], minlength=len(sizes))
            log_chance = log_chance_of_groups(taken, sizes, probability)
            count, total = int(taken.sum()), int(sizes.sum())
            yield RandomnessTest(
                what, choice, width, count, total, probability, log_chance, (call.seed,)
            )


def _log_chance(count: int, total: int, probability: float) -> float:
    return log_chance_of_share(count / max(1, total), total, probability)


def _pairs(marks: Marks, telling: Marks, lag: int) -> tuple[int, int]:
    """Count disjoint pairs of elements `lag` apart: those that differ, and all."""
    whole = len(marks) // (2 * lag) * 2 * lag
    one, other = marks[:whole].reshape(-1, 2, lag).swapaxes(0, 1)
    both = telling[:whole].reshape(-1, 2, lag).all(axis=1)
    return int(((one != other) & both).sum()), int(both.sum())


def _pairs_of_two(
    first: tuple[Draws, Marks], other: tuple[Draws, Marks], shift: int
) -> tuple[int, int]:
    """Count the elements of two calls that lie `shift` apart: those that differ, and all."""
    ahead, behind = (first, other) if shift >= 0 else (other, first)
    shift = abs(shift)
    length = len(first[1]) - shift
    both = ahead[0].telling[shift:] & behind[0].telling[:length]
    return int(((ahead[1][shift:] != behind[1][:length]) & both).sum()), int(both.sum())


def _row_sizes(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis:]) for axis in range(len(shape) - 1, 0, -1)]


def _lags(length: int, shape: Sequence[int]) -> list[int]:
    lags = {*range(1, LAGS + 1), *(2**k for k in range(length.bit_length()))}
    lags |= {rows * size for size in _row_sizes(shape) for rows in range(1, ROWS_APART + 1)}
    return sorted(lag for lag in lags if 2 * lag <= length)


def _widths(length: int, shape: Sequence[int]) -> list[int]:
    widths = {*(2**k for k in range(3, length.bit_length(), 2)), *_row_sizes(shape)}
    return sorted(w for w in widths if w > 1 and LEAST_GROUPS * w <= length)


def _shifts(length: int) -> list[int]:
    ahead = {*range(1, SHIFTS + 1), *(2**k for k in range(LAGS.bit_length()))}
    fitting = sorted(shift for shift in ahead if 2 * shift <= length)
    return [0, *fitting, *(-shift for shift in fitting)]
