"""The distributions of a case's numbers, one for each `draw` of a case, for floats and integers.

With independent, identically distributed normal inputs a kernel can guess a reduction instead of
computing it: a softmax of N(0, 1) rows passes common tolerances with a constant denominator.
Therefore every row has its own scale, shift and spikes. Other cases have ties, constant rows,
extremes and subnormals.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grader.correctness.dtypes import DTYPES, smallest
from grader.model import LARGEST

Distribution = Callable[[int, int, torch.Generator, float, str], Tensor]


# Drawn in float32: torch takes a fifth of the time of float64 for normal numbers, or less, and
# about half for uniform ones. No dtype of a kernel has more digits.
def _uniform(shape: tuple[int, ...], low: float, high: float, random: torch.Generator) -> Tensor:
    return torch.empty(shape).uniform_(low, high, generator=random).double()


def _normal(rows: int, columns: int, random: torch.Generator) -> Tensor:
    return torch.randn((rows, columns), generator=random).double()


def _rows(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Draw row scales log-uniform in [0.05, 20], shifts in [-8, 8], a spike per 4,096 columns.

    With these, a guess without the reduction passes 0 % of rows.
    """
    scale = _uniform((rows, 1), math.log(0.05), math.log(20.0), random).exp()
    shift = _uniform((rows, 1), -8.0, 8.0, random)
    spikes = math.ceil(columns / 4096)
    where = torch.randint(columns, (rows, spikes), generator=random)
    height = _uniform((rows, spikes), 2.0, 6.0, random) * scale
    sign = torch.randint(2, (rows, spikes), generator=random) * 2 - 1
    values = _normal(rows, columns, random) * scale + shift
    return values.scatter_add_(1, where, height * sign)


def _ties(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Draw from four values a row, so that the maximum occurs many times."""
    palette = _uniform((rows, 4), -6.0, 6.0, random)
    return palette.gather(1, torch.randint(4, (rows, columns), generator=random))


def _constant(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    return _uniform((rows, 1), -8.0, 8.0, random).expand(rows, columns)


def _extremes(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Draw half of the elements near ±`extreme`; in each row one sign is more frequent."""
    lean = _uniform((rows, 1), 0.1, 0.9, random)
    sign = (_uniform((rows, columns), 0.0, 1.0, random) < lean).double() * 2 - 1
    large = sign * extreme * _uniform((rows, columns), 0.5, 1.0, random)
    chosen = torch.rand((rows, columns), generator=random) < 0.5
    return torch.where(chosen, large, _normal(rows, columns, random))


def _denormals(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Draw zeros of both signs, subnormal and ordinary small numbers, in equal parts."""
    smallest_normal = torch.finfo(DTYPES[dtype]).smallest_normal
    sign = torch.randint(2, (rows, columns), generator=random) * 2.0 - 1
    kind = torch.randint(3, (rows, columns), generator=random)
    size = torch.where(
        kind == 0,
        torch.zeros((), dtype=torch.float64),
        torch.where(
            kind == 1,
            smallest_normal * _uniform((rows, columns), 0.0, 1.0, random),
            _uniform((rows, columns), 0.0, 1.0, random),
        ),
    )
    return sign * size


def _integers(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    # float32 holds sums of -1, 0 and 1 exactly, so any error shows.
    return torch.randint(-1, 2, (rows, columns), generator=random).double()


def _spikes(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Draw normal numbers with one 120 in each row, first in the last column, then further left.

    With as many rows as columns, each column has one. exp(120) overflows float32, so a softmax
    whose maximum leaves out a column fails. A single random spike would hardly show that.
    """
    places = columns - 1 - torch.arange(rows) * columns // rows
    return _normal(rows, columns, random).scatter_(1, places.unsqueeze(1), 120.0)


def _sunken(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Draw half of each row at its top, -1e3 to -0.8 `extreme`, and the rest still further below.

    A maximum that begins at 0 or at -1e9 leaves a sum of 0. What lies below the top has an exp of
    0 beside it: a kernel that rounds x * log2(e) before it subtracts the maximum is right, too.
    """
    lowest = 0.8 * extreme
    depth = _uniform((rows, 1), math.log(min(1e3, lowest / 8)), math.log(lowest), random).exp()
    gap = (depth / 64).clamp(min=256.0) * _uniform((rows, columns), 1.0, 4.0, random)
    below = torch.rand((rows, columns), generator=random) < 0.5
    # In a short row, too, one element at least lies at the top.
    below.scatter_(1, torch.randint(columns, (rows, 1), generator=random), False)
    return torch.where(below, -depth - gap, -depth).clamp(min=-extreme)


def _counting(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Count from 1 to 9 and again, or to the whole number below `extreme` if that is less.

    A person follows these numbers. A case is shown with them if it fails with them, too.
    """
    return _counted(rows, columns, extreme).double().clamp(max=extreme)


def _signs(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Count with every second number below 0: 1, -2, 3, -4."""
    return _alternating(_counting(rows, columns, random, extreme, dtype))


def _hundreds(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Count 200, 400, 600: exp of each overflows float32."""
    return (200 * _counted(rows, columns, 9)).double().clamp(max=extreme)


def _depths(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Count -200, -400, -600: exp of each is 0 in float32."""
    return -_hundreds(rows, columns, random, extreme, dtype)


def _counted(rows: int, columns: int, most: float) -> Tensor:
    return (torch.arange(rows * columns) % max(1, min(9, int(most))) + 1).reshape(rows, columns)


def _alternating(counted: Tensor) -> Tensor:
    return torch.where(counted % 2 == 0, -counted, counted)


DISTRIBUTIONS: dict[str, Distribution] = {
    "rows": _rows,
    "ties": _ties,
    "constant": _constant,
    "extremes": _extremes,
    "denormals": _denormals,
    "integers": _integers,
    "spikes": _spikes,
    "sunken": _sunken,
    "counting": _counting,
    "signs": _signs,
    "hundreds": _hundreds,
    "depths": _depths,
}


# The same for integers from `low` to `high`, as int64: float64 cannot hold all of them.
WholeNumbers = Callable[[int, int, torch.Generator, int, int], Tensor]


def bounds(dtype: str, extreme: float | None) -> tuple[int, int]:
    low, high = smallest(DTYPES[dtype]), int(LARGEST[dtype])
    if extreme is None or extreme >= high:
        return low, high
    return max(low, -int(extreme)), int(extreme)


def middle_of(low: int, high: int) -> float:
    return 0.0 if low < 0 else min(high, 100) / 2


def integer(low: int, high: int, shape: tuple[int, ...], random: torch.Generator) -> Tensor:
    # torch takes no bound above int64's greatest number, so this number is never drawn.
    return torch.randint(low, min(high + 1, 2**63 - 1), shape, generator=random)


def _near_0(low: int, high: int, size: int) -> tuple[int, int]:
    return max(low, -size), min(high, size)


def _rows_of_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    """Draw row scales log-uniform in [1, 20], shifts in [-8, 8]; unsigned ones lie around 50."""
    scale = _uniform((rows, 1), 0.0, math.log(20.0), random).exp()
    middle = middle_of(low, high)
    shift = _uniform((rows, 1), middle - 8.0, middle + 8.0, random)
    values = _normal(rows, columns, random) * scale + shift
    return values.round().long().clamp(low, high)


def _ties_of_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    palette = integer(*_near_0(low, high, 6), (rows, 4), random)
    return palette.gather(1, torch.randint(4, (rows, columns), generator=random))


def _constant_whole(
    rows: int, columns: int, random: torch.Generator, low: int, high: int
) -> Tensor:
    return integer(*_near_0(low, high, 100), (rows, 1), random).expand(rows, columns)


def _extreme_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    """Draw a quarter each of `low`, `high`, numbers anywhere between, and numbers near 0."""
    shape = rows, columns
    kind = torch.randint(4, shape, generator=random)
    anywhere = integer(low, high, shape, random)
    near = integer(*_near_0(low, high, 3), shape, random)
    ends = torch.where(kind == 2, high, low)
    return torch.where(kind == 0, near, torch.where(kind == 1, anywhere, ends))


def _small_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    return integer(*_near_0(low, high, 1), (rows, columns), random)


def _spiky_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    small = _small_whole(rows, columns, random, low, min(high, 120) - 1)
    places = columns - 1 - torch.arange(rows) * columns // rows
    return small.scatter_(1, places.unsqueeze(1), min(high, 120))


def _sunken_whole(rows: int, columns: int, random: torch.Generator, low: int, high: int) -> Tensor:
    return low + torch.randint(min(high - low, 3) + 1, (rows, columns), generator=random)


def _counting_whole(
    rows: int, columns: int, random: torch.Generator, low: int, high: int
) -> Tensor:
    if high < 2:  # 0 and 1 tell elements of a bool apart
        return (_counted(rows, columns, 2) - 1).clamp(low, high)
    return _counted(rows, columns, high)


def _signs_of_whole(
    rows: int, columns: int, random: torch.Generator, low: int, high: int
) -> Tensor:
    counted = _counting_whole(rows, columns, random, low, high)
    return counted if low >= 0 else _alternating(counted).clamp(low, high)


def _hundreds_of_whole(
    rows: int, columns: int, random: torch.Generator, low: int, high: int
) -> Tensor:
    return (200 * _counted(rows, columns, 9)).clamp(low, high)


def _depths_of_whole(
    rows: int, columns: int, random: torch.Generator, low: int, high: int
) -> Tensor:
    return (-200 * _counted(rows, columns, 9)).clamp(low, high)


WHOLE_NUMBERS: dict[str, WholeNumbers] = {
    "rows": _rows_of_whole,
    "ties": _ties_of_whole,
    "constant": _constant_whole,
    "extremes": _extreme_whole,
    "denormals": _small_whole,
    "integers": _small_whole,
    "spikes": _spiky_whole,
    "sunken": _sunken_whole,
    "counting": _counting_whole,
    "signs": _signs_of_whole,
    "hundreds": _hundreds_of_whole,
    "depths": _depths_of_whole,
}
