"""The last of a go's inputs, without which nothing that was computed before them is worth anything.

To fill all slots takes the judge a tenth of a second and more, and a stream that waits on the GPU
for one of them can go over it while the others are filled: no process has to run for that. So the
greatest element of every row holds a stand-in until the clock is about to start. Where it lies
nobody knows who has not read the whole row again by then; and a maximum, a sum of exponentials or a
sum of products that was computed without it is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SPAN = 4096  # elements of a vector, of which one is late: as many as a short row has


@dataclass(frozen=True)
class Withheld:
    """What is late of one tensor, one element of each row (of each SPAN, of a vector).

    `places` (int64) count its elements row by row; `values` are what belongs there.
    """

    places: Tensor
    values: Tensor


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


def withhold(values: Tensor) -> Withheld:
    """Choose what is late of a contiguous tensor of one dimension or two."""
    rows = _rows(values)
    greatest, columns = rows.max(dim=1)
    first = torch.arange(len(rows), device=values.device) * rows.shape[1]
    return Withheld(first + columns, greatest)


def stand_in(values: Tensor, late: Withheld) -> None:
    """Overwrite what is late with the mean of two others of its row, as an element might be."""
    rows = _rows(values)
    of_each = torch.randint(rows.shape[1], (len(rows), 2), device=values.device)
    mean = rows.gather(1, of_each).float().mean(dim=1)
    values.view(-1)[late.places] = mean.to(values.dtype)


def _rows(values: Tensor) -> Tensor:
    """Of a vector, what is left when it is cut into parts of SPAN belongs to no row."""
    if values.ndim > 1:
        return values.view(-1, values.shape[-1])
    span = min(len(values), SPAN)
    return values[: len(values) // span * span].view(-1, span)
