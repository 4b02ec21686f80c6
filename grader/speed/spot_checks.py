"""The judge's samples of an arena: canaries that nobody may touch, and outputs to compare.

Verdicts that are tensors are one boolean on the device, read later.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.correctness import LOG_OF_ONE_CASE, best_choice, bits, log_chances_of_shares, widened
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

    `index` counts elements of the dtype from the arena's start. Answers and limits are float64. For
    integers they are int64, or float64 for the middle of two. `before` holds the bits that lay
    there before the call.
    """

    index: Tensor
    answer: Tensor
    limit: Tensor
    before: Tensor
    memory: Tensor  # the arena, in that dtype

    def met(self) -> SpotCheck:
        return self

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
        """Return the absolute error of each place; for integers 1 where they differ.

        Integers with an answer between two of them have the distance to it.
        """
        values = widened(self.held())
        if not (values.is_floating_point() or self.answer.is_floating_point()):
            return (values != self.answer).long()
        return (values - self.answer).abs()

    def held(self) -> Tensor:
        """Return the contents of the places now, in their dtype."""
        return bits(self.memory)[self.index].view(self.memory.dtype)


@dataclass(frozen=True)
class RandomSpotCheck:
    """Some places whose values are drawn: a spot check and a probability for each of their choices.

    All of `choices` have the same places; `probabilities` has a row for each of them. `telling`
    marks the places whose choices no error can hide, each place once.
    """

    choices: Sequence[SpotCheck]
    probabilities: Tensor
    telling: Tensor

    def met(self) -> SpotCheck:
        """Return a spot check for the choice that each place took, or else is nearest to."""
        answers = torch.stack([choice.answer for choice in self.choices])
        limits = torch.stack([choice.limit for choice in self.choices])
        taken = self.taken()[None]
        answer, limit = answers.gather(0, taken)[0], limits.gather(0, taken)[0]
        return replace(self.choices[0], answer=answer, limit=limit)

    def right(self) -> Tensor:
        return self.met().right() & self.likely()

    def share_right(self) -> float:
        return self.met().share_right()

    def likely(self) -> Tensor:
        """Say whether a right kernel may take each choice as often as this one did.

        Where the probability differs from place to place, the bound holds with the mean.
        """
        taken, total = self.taken(), self.telling.sum().clamp(min=1).double()
        verdicts = []
        for number, asked in enumerate(self.probabilities):
            share = ((taken == number) & self.telling).sum() / total
            mean = (asked * self.telling).sum() / total
            verdicts.append(log_chances_of_shares(share, total, mean) >= LOG_OF_ONE_CASE)
        return _all(verdicts) | ~self.telling.any()

    def taken(self) -> Tensor:
        """Return the number of the choice of each place."""
        errors = torch.stack([choice.error().double() for choice in self.choices])
        limits = torch.stack([choice.limit.double() for choice in self.choices])
        return best_choice(errors.nan_to_num(nan=torch.inf), errors <= limits)


def random_spot_check(
    index: Tensor,
    answers: Tensor,
    limits: Tensor,
    probabilities: Tensor,
    before: Tensor,
    memory: Tensor,
) -> RandomSpotCheck:
    """Make the check from answers, limits and probabilities with a column for each choice."""
    pairs = zip(answers.unbind(-1), limits.unbind(-1), strict=True)
    choices = [SpotCheck(index, answer, limit, before, memory) for answer, limit in pairs]
    ordered, order = index.sort(stable=True)
    telling = torch.ones_like(index, dtype=torch.bool)
    telling[order[1:]] = ordered[1:] != ordered[:-1]
    for one, other in itertools.combinations(choices, 2):
        gap = (one.answer.double() - other.answer.double()).abs()
        telling &= gap > one.limit.double() + other.limit.double()
    return RandomSpotCheck(choices, probabilities.T, telling)


@dataclass(frozen=True)
class SlotContents:
    """The contents of the slots for a batch: canaries, inputs still withheld, and spot checks."""

    canaries: Sequence[Canary] = ()
    pending: Sequence[PendingInput] = ()
    spot_checks: Sequence[SpotCheck | RandomSpotCheck] = ()

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
