"""Where the judge looks in an arena: whether nobody worked ahead, and whether all is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.speed.withheld_inputs import PendingInput


@dataclass(frozen=True)
class Canary:
    """Some places of one width in the arena, and what the judge put there.

    `index` counts integers of the width from the arena's start; `bits` are such integers.
    """

    index: Tensor
    bits: Tensor
    memory: Tensor  # the arena, in such integers

    def intact(self) -> Tensor:
        """One boolean on the device: every place is as the judge left it."""
        return (self.memory[self.index] == self.bits).all()


@dataclass(frozen=True)
class SpotCheck:
    """Some places of one dtype in the arena, what they must hold and by how much they may miss it.

    `index` counts elements of the dtype from the arena's start; answers and limits are float64.
    """

    index: Tensor
    answer: Tensor
    limit: Tensor
    memory: Tensor  # the arena, in that dtype

    def right(self) -> Tensor:
        """One boolean on the device: every place holds its answer (a NaN never does)."""
        return (self.error() <= self.limit).all()

    def share_right(self) -> float:
        """How many of the places are right, from 0 to 1, but for those where a zero would be."""
        takes_work = self.answer.abs() > self.limit
        right = (self.error() <= self.limit) & takes_work
        return int(right.sum()) / max(1, int(takes_work.sum()))

    def error(self) -> Tensor:
        return (self.memory[self.index].double() - self.answer).abs()


@dataclass(frozen=True)
class SlotContents:
    """What is in the slots for a go: how they were left, what of their inputs is late, and what
    their answers must be."""

    canaries: Sequence[Canary] = ()
    pending: Sequence[PendingInput] = ()
    spot_checks: Sequence[SpotCheck] = ()

    def untouched(self) -> Tensor:
        """One boolean on the device: nothing was written since, neither answers nor what would help
        to find them."""
        return _all([canary.intact() for canary in self.canaries])

    def complete(self) -> None:
        """Put in what is late. Without effect where that was done and no call has updated it."""
        for part in self.pending:
            part.write()

    def outputs_right(self) -> bool:
        """Whether every sampled place holds its answer."""
        return bool(_all([check.right() for check in self.spot_checks]))


def _all(verdicts: list[Tensor]) -> Tensor:
    """In one boolean, so that to look takes as long whatever is seen."""
    return torch.stack(verdicts).all() if verdicts else torch.tensor(True)
