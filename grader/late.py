"""The last of a go's inputs, without which nothing that was computed before them is worth anything.

A worker runs before the clock starts, and could go over its inputs by then; or a stream of its own
could, that waits on the GPU for one slot while the judge fills the others. So the greatest element
of every row comes when the clock has started, and with it some that are nearly as great. A maximum
or a sum of exponentials that was computed without them is wrong. Only reading the row again tells
where they lie; and as their number is secret, only reading all of it. Of whole numbers any come
late.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SPAN = 16384  # elements of a vector that count as a row
# Elements of a row that may be late: the greatest is, and each other by the toss of a coin. Who has
# found this many may stop looking: in an eighth of the rows, after four fifths of the row.
MOST = 4
NEAR = 0.01  # of the way to what lay there before: how far the others fall short at most


@dataclass(frozen=True)
class Withheld:
    """What is late of one tensor: (rows, MOST) each, and a vector's SPANs count as rows.

    `places` (int64) count the tensor's elements row by row, that of a greatest first; `values`
    are what belongs there, and `before` what lies there until then, which may be the same.
    """

    places: Tensor
    values: Tensor
    before: Tensor


@dataclass(frozen=True)
class Late:
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

    Of floating-point numbers it is the greatest of each row, and some elements that this makes
    nearly as great: that a small one was missing would show in no sum. Whole numbers stay as they
    are, for they may be indices: any of a row are late, and others of the row stand in for them.
    """
    rows = _rows(values)
    if values.is_floating_point():
        # What weighs in a sum of products is great in size; in one of exponentials, great.
        columns, before = _greatest(rows, rows.abs() if values.ndim == 1 else rows, random)
    else:
        columns, instead = _anywhere(rows, 2 * MOST, random).chunk(2, dim=1)
        before = rows.gather(1, instead)
    first = torch.arange(len(rows), device=values.device)[:, None] * rows.shape[1]
    # Read again, for of two that fell on one place either may have been written last.
    return Withheld(first + columns, rows.gather(1, columns), before)


def _greatest(rows: Tensor, weight: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Columns of what weighs most in each row and of what is made alike, and what stands in."""
    place = weight.argmax(dim=1, keepdim=True)
    greatest = rows.gather(1, place)
    anywhere = _anywhere(rows, MOST + 1, random)
    drawn = rows.gather(1, anywhere).float()
    # A mean of two might be an element; a copy of one could be looked for.
    instead, others = drawn[:, :2].mean(dim=1, keepdim=True), drawn[:, 2:]
    short, coin = torch.rand((2, *others.shape), generator=random, device=rows.device)
    near = torch.lerp(greatest.float(), others, NEAR * short)
    planted = (coin < 0.5) & near.isfinite()
    late = torch.where(planted, near, others)
    rows.scatter_(1, anywhere[:, 2:], late.to(rows.dtype))
    columns = torch.cat((place, anywhere[:, 2:]), dim=1)
    return columns, torch.where(columns == place, instead, drawn[:, 1:]).to(rows.dtype)


def _anywhere(rows: Tensor, count: int, random: torch.Generator) -> Tensor:
    """Random columns, so many of each row."""
    shape = len(rows), count
    return torch.randint(rows.shape[1], shape, generator=random, device=rows.device)


def stand_in(values: Tensor, late: Withheld) -> None:
    """Overwrite what is late with what lies there until it comes."""
    values.view(-1)[late.places] = late.before


def _rows(values: Tensor) -> Tensor:
    """Of a vector, what is left when it is cut into parts of SPAN belongs to no row."""
    if values.ndim > 1:
        return values.view(-1, values.shape[-1])
    span = min(len(values), SPAN)
    return values[: len(values) // span * span].view(-1, span)
