"""The last of a go's inputs, without which nothing that was computed before them is worth anything.

A worker runs before the clock starts, and could go over its inputs by then; or a stream of its own
could, that waits on the GPU for one slot while the judge fills the others. So the greatest element
of every row comes when the clock has started, and with it some that are nearly as great. A maximum
or a sum of exponentials that was computed without them is wrong. Only reading the row again tells
where they lie; and as their number is secret, only reading all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SPAN = 16384  # elements of a vector that count as a row
# Elements of a row that may be late: the greatest is, and each other by the toss of a coin. Who has
# found this many may stop looking: in an eighth of the rows, after four fifths of the row.
MAX_WITHHELD = 4
NEAR = 0.01  # of the way to what lay there before: how far the others fall short at most


@dataclass(frozen=True)
class Withheld:
    """What is late of one tensor: (rows, MAX_WITHHELD) each, and a vector's SPANs count as rows.

    `places` (int64) count the tensor's elements row by row, that of the greatest first; `values`
    are what belongs there, and `before` what lies there until then, which may be the same.
    """

    places: Tensor
    values: Tensor
    before: Tensor


@dataclass(frozen=True)
class PendingInput:
    """What is late in an arena, of one dtype.

    `index` counts elements of the dtype from the arena's start; `memory` is the arena, in it.
    """

    index: Tensor
    values: Tensor
    memory: Tensor

    def write(self) -> None:
        """Put the values where they belong."""
        self.memory[self.index] = self.values


def withhold(values: Tensor, random: torch.Generator) -> Withheld:
    """Choose what will be late of a contiguous tensor of any shape. Rows lie along the last axis.

    Changes some floating-point numbers to be nearly as great as the greatest of their rows: that a
    small one was missing would show in no sum. Whole numbers stay as they are, for they may be
    indices, and only what is drawn may stand in for them.
    """
    rows = _rows(values)
    # What weighs in a sum of products is great in size; in one of exponentials, great.
    place = (rows.abs() if values.ndim == 1 else rows).argmax(dim=1, keepdim=True)
    columns = torch.cat((place, _anywhere(rows, MAX_WITHHELD - 1, random)), dim=1)
    drawn = rows.gather(1, columns)
    others = rows.gather(1, _anywhere(rows, MAX_WITHHELD, random))
    coin = torch.rand(columns.shape, generator=random, device=values.device) < 0.5
    if values.is_floating_point():
        before = _nearly_as_great(rows, columns, coin, others, random)
    else:
        coin[:, 0] = True
        before = torch.where(coin, others, drawn)
    first = torch.arange(len(rows), device=values.device)[:, None] * rows.shape[1]
    # Read again, for of two that fell on one place either may have been written last.
    return Withheld(first + columns, rows.gather(1, columns), before)


def _nearly_as_great(
    rows: Tensor, columns: Tensor, coin: Tensor, others: Tensor, random: torch.Generator
) -> Tensor:
    """Make what lies in these columns, but in the first, nearly as great as that, where the coin
    says so. Returns what is to stand in for all of them."""
    drawn = rows.gather(1, columns).float()
    greatest, small = drawn[:, :1], drawn[:, 1:]
    # A mean of two might be an element; a copy of one could be looked for.
    instead = others[:, :2].float().mean(dim=1, keepdim=True)
    short = torch.rand(small.shape, generator=random, device=rows.device)
    near = torch.lerp(greatest, small, NEAR * short)
    late = torch.where(coin[:, 1:] & near.isfinite(), near, small)
    rows.scatter_(1, columns[:, 1:], late.to(rows.dtype))
    return torch.where(columns == columns[:, :1], instead, drawn).to(rows.dtype)


def _anywhere(rows: Tensor, count: int, random: torch.Generator) -> Tensor:
    """Random columns, so many of each row."""
    shape = len(rows), count
    return torch.randint(rows.shape[1], shape, generator=random, device=rows.device)


def write_placeholders(values: Tensor, late: Withheld) -> None:
    """Overwrite what is late with what lies there until it comes."""
    values.view(-1)[late.places] = late.before


def _rows(values: Tensor) -> Tensor:
    """Of a vector, what is left when it is cut into parts of SPAN belongs to no row."""
    if values.ndim > 1:
        return values.view(-1, values.shape[-1])
    span = min(len(values), SPAN)
    return values[: len(values) // span * span].view(-1, span)
