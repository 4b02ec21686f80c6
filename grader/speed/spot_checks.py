"""The judge's samples of an arena: canaries that nobody may touch, and outputs to compare.

Verdicts that are tensors are one boolean on the device, read later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.correctness import bits, widened
from grader.speed.withheld_inputs import PendingInput


@dataclass(frozen=True)
class Canary:
    """Some places of one width in the arena, and the bits that the judge left there.

    `index` counts integers of the width from the arena's start; `bits` are such integers.
    """

    index: Tensor
    bits: Tensor
    memory: Tensor  # the arena, in such integers

    def intact(self) -> Tensor:
        return (self.memory[self.index] == self.bits).all()


@dataclass(frozen=True)
class SpotCheck:
    """Some places of one dtype in the arena, with their expected values and tolerances.

    `index` counts elements of the dtype from the arena's start; answers and limits are float64, for
    integers int64. `before` holds the bits that lay there before the call.
    """

    index: Tensor
    answer: Tensor
    limit: Tensor
    before: Tensor
    memory: Tensor  # the arena, in that dtype

    def right(self) -> Tensor:
        return (self.error() <= self.limit).all()

    def share_right(self) -> float:
        """Return the share of right places, from 0 to 1, among those where a zero is wrong.

        Places that hold the same as before the call count as wrong: nothing was done there.
        """
        takes_work = self.answer.abs() > self.limit
        changed = bits(self.held()) != self.before
        right = (self.error() <= self.limit) & takes_work & changed
        return int(right.sum()) / max(1, int(takes_work.sum()))

    def error(self) -> Tensor:
        """Return the absolute error of each place; for integers 1 where they differ."""
        values = widened(self.held())
        if not values.is_floating_point():
            return (values != self.answer).long()
        return (values - self.answer).abs()

    def held(self) -> Tensor:
        """Return the contents of the places now, in their dtype."""
        return bits(self.memory)[self.index].view(self.memory.dtype)


@dataclass(frozen=True)
class SlotContents:
    """The contents of the slots for a batch: canaries, inputs still withheld, and spot checks."""

    canaries: Sequence[Canary] = ()
    pending: Sequence[PendingInput] = ()
    spot_checks: Sequence[SpotCheck] = ()

    def untouched(self) -> Tensor:
        return _all([canary.intact() for canary in self.canaries])

    def complete(self) -> None:
        """Write the withheld inputs. Has no effect once written, unless a call has updated them."""
        for part in self.pending:
            part.write()

    def outputs_right(self) -> bool:
        return bool(_all([check.right() for check in self.spot_checks]))


def _all(verdicts: list[Tensor]) -> Tensor:
    """Combine verdicts in one boolean, so that the look takes equally long whatever it finds."""
    return torch.stack(verdicts).all() if verdicts else torch.tensor(True)
