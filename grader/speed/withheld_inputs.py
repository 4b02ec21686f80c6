"""Inputs withheld until the clock starts, so that work done early is wrong.

A worker runs before the clock starts, and could read its inputs by then. Or a CUDA stream of its
own could wait on the GPU for one slot while the judge fills the others. Therefore the judge writes
the greatest element of every row when the clock has started, and with it some that are nearly as
great. A maximum or a sum of exponentials that was computed without them is wrong. Only reading the
row again shows where they lie. As their number is secret, the whole row must be read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from grader.correctness import bits, widened

SPAN = 16384  # elements of a vector that count as a row
# Elements of a row that may be withheld: the greatest always is, each other by the toss of a coin.
# A kernel that has found this many may stop looking: in an eighth of the rows, after four fifths of
# the row.
MAX_WITHHELD = 4
NEAR = 0.01  # of the way from the greatest to the drawn value: the others fall short by less


@dataclass(frozen=True)
class Withheld:
    """The withheld elements of one tensor, MAX_WITHHELD in each row.

    All three have the shape (rows, MAX_WITHHELD); a vector's SPANs count as rows. `places` (int64)
    count the tensor's elements row by row, the greatest element's first. `values` belong there;
    `before` lies there until then, and may be equal.
    """

    places: Tensor
    values: Tensor
    before: Tensor


@dataclass(frozen=True)
class PendingInput:
    """The withheld elements of one dtype in an arena, still to be written.

    `index` counts elements of the dtype from the arena's start; `memory` is the arena as that
    dtype.
    """

    index: Tensor
    values: Tensor
    memory: Tensor

    def write(self) -> None:
        bits(self.memory)[self.index] = bits(self.values)


def withhold(values: Tensor, random: torch.Generator) -> Withheld:
    """Choose the elements to withhold of a contiguous tensor of any shape.

    Rows lie along the last axis. Changes some floating-point numbers to be nearly as great as the
    greatest of their rows, because no sum would show that a small one was missing. Integers stay as
    they are, because they may be indices. Only drawn values may replace them, and of a bool its
    opposite.
    """
    rows = _rows(values)
    # In a sum of products the largest magnitude matters; in one of exponentials, the largest value.
    ordered = rows if rows.dtype.itemsize > 1 else widened(rows).float()
    place = (ordered.abs() if values.ndim == 1 else ordered).argmax(dim=1, keepdim=True)
    columns = torch.cat((place, _random_columns(rows, MAX_WITHHELD - 1, random)), dim=1)
    drawn = _gather(rows, columns)
    others = _gather(rows, _random_columns(rows, MAX_WITHHELD, random))
    coin = torch.rand(columns.shape, generator=random, device=values.device) < 0.5
    if values.is_floating_point():
        before = _nearly_as_great(rows, columns, coin, others, random)
    else:
        coin[:, 0] = True
        before = torch.where(coin, ~drawn if rows.dtype == torch.bool else others, drawn)
    first = torch.arange(len(rows), device=values.device)[:, None] * rows.shape[1]
    # Read again: of two values for the same place, either may have been written last.
    return Withheld(first + columns, _gather(rows, columns), before)


def _nearly_as_great(
    rows: Tensor, columns: Tensor, coin: Tensor, others: Tensor, random: torch.Generator
) -> Tensor:
    """Make the elements in all but the first column nearly as great as it, where the coin says so.

    Returns the placeholders for all columns.
    """
    drawn = _gather(rows, columns).float()
    greatest, small = drawn[:, :1], drawn[:, 1:]
    # A mean of two looks like an element; a copy of one could be searched for.
    instead = others[:, :2].float().mean(dim=1, keepdim=True)
    short = torch.rand(small.shape, generator=random, device=rows.device)
    near = torch.lerp(greatest, small, NEAR * short)
    changed = torch.where(coin[:, 1:] & near.isfinite(), near, small)
    bits(rows).scatter_(1, columns[:, 1:], bits(changed.to(rows.dtype)))
    return torch.where(columns == columns[:, :1], instead, drawn).to(rows.dtype)


def _gather(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the elements in these columns of each row; torch gathers no floats of 8 bits."""
    return bits(rows).gather(1, columns).view(rows.dtype)


def _random_columns(rows: Tensor, count: int, random: torch.Generator) -> Tensor:
    shape = len(rows), count
    return torch.randint(rows.shape[1], shape, generator=random, device=rows.device)


def write_placeholders(values: Tensor, withheld: Withheld) -> None:
    bits(values).view(-1)[withheld.places] = bits(withheld.before)


def _rows(values: Tensor) -> Tensor:
    """Split a tensor into rows; a vector into parts of SPAN, whose remainder belongs to no row."""
    if values.ndim > 1:
        return values.view(-1, values.shape[-1])
    span = min(len(values), SPAN)
    return values[: len(values) // span * span].view(-1, span)
