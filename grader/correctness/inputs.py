"""Draw the tensors of a case, the same ones on every machine, and lay them out in memory."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import torch
from torch import Tensor

from grader.correctness.distributions import (
    DISTRIBUTIONS,
    WHOLE_NUMBERS,
    bounds,
    integer,
    middle_of,
)
from grader.correctness.dtypes import DTYPES, NAMES, is_whole, rounded, widened
from grader.model import LARGEST, MOST_SEED, Case


class CaseDraw:
    """Draws the tensors of one case; the same case gives the same values on every machine."""

    def __init__(self, case: Case, device: torch.device | str = "cpu") -> None:
        self._case = case
        self._device = torch.device(device)
        self._random = torch.Generator().manual_seed(_seed_from(case))
        self._padded = 0  # tensors drawn so far that have padded rows
        self._counting = 0  # tensors drawn so far that count

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        """Draw as `spec.Draw` says. Raises ValueError for an unknown distribution."""
        if self._case.draw not in DISTRIBUTIONS:
            raise ValueError(
                f"{self._case.draw!r} is not a distribution: use {', '.join(DISTRIBUTIONS)}"
            )
        values = self._values(shape, dtype or self._case.dtype, extreme)
        if self._case.draw in ("counting", "signs"):
            values = self._in_tens(values, extreme)
        pad = self._case.pad
        if pad:
            # Each tensor has another row stride, so a kernel that uses one stride for two tensors
            # is wrong. An output's stride is 2 more than its input's (remote_kernel.destinations).
            pad += 3 * self._padded
            self._padded += 1
        return with_layout(values, pad, self._case.offset, self._device)

    def _values(self, shape: tuple[int, ...], dtype: str, extreme: float | None) -> Tensor:
        rows, columns, limit = math.prod(shape[:-1]), shape[-1], LARGEST[dtype]
        if is_whole(DTYPES[dtype]):
            numbers = WHOLE_NUMBERS[self._case.draw]
            values = numbers(rows, columns, self._random, *bounds(dtype, extreme))
            return values.to(DTYPES[dtype]).reshape(shape)
        most = min(extreme or limit, limit)
        values = DISTRIBUTIONS[self._case.draw](rows, columns, self._random, most, dtype)
        return rounded(values, DTYPES[dtype]).reshape(shape)

    def _in_tens(self, values: Tensor, extreme: float | None) -> Tensor:
        """Have each second tensor count in tens, so that its numbers differ from the first's."""
        self._counting += 1
        limit = min(extreme or math.inf, LARGEST[NAMES[values.dtype]])
        in_tens = self._counting % 2 == 0 and limit >= TENS
        return (widened(values) * 10).to(values.dtype) if in_tens else values

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        values = torch.randint(below, (count,), generator=self._random)
        if ignored is not None:
            dropped = torch.rand(count, generator=self._random) < 0.2
            values = values.masked_fill(dropped, ignored)
        return values.to(self._device)

    def number(self, low: float, high: float) -> float:
        if self._case.draw in PLAIN and low <= PLAIN_NUMBER <= high:
            return PLAIN_NUMBER
        share = torch.rand((), generator=self._random, dtype=torch.float64).item()
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return torch.tensor(value, dtype=torch.float32).item()

    def factor(self, most: float) -> float:
        if self._case.draw in PLAIN:
            return min(PLAIN_NUMBER, most)
        low, high, signs = FACTORS[self.integer(0, len(FACTORS) - 1)]
        size = self.number(min(low, most), min(high or most, most)) if low else 0.0
        return -size if signs and self.truth() else size

    def integer(self, low: int, high: int) -> int:
        return int(integer(low, high, (), self._random))

    def truth(self) -> bool:
        return self.integer(0, 1) == 1

    def seed(self) -> int:
        return self.integer(0, MOST_SEED)


# Sizes of a factor, each as likely as the others: the least, the most (None: what the exercise
# allows), and whether it may be negative. An ordinary positive one is as likely as all others.
FACTORS: tuple[tuple[float, float | None, bool], ...] = (
    *((1 / 64, 4.0, False),) * 4,
    (0.0, 0.0, False),
    (2.0**-100, 2.0**-20, True),
    (1 / 64, 4.0, True),
    (64.0, None, True),
)

PLAIN = ("counting", "signs", "hundreds", "depths")  # distributions that a person follows

# In these, a number that leaves no product as it is; the largest of the tens.
PLAIN_NUMBER, TENS = 2.0, 90

EXACT_IN_FLOAT32 = 2**24  # float32 holds each integer up to this
SPIKES = 16  # at least, in a vector or in each row of the scored case; at most twice as many


class LargeDraw:
    """Draws the scored case on the GPU itself, in place and in the case's own dtype.

    Integers and floats of 8 bits are drawn in float32 and rounded. The distribution is always
    `rows`. No target is ignored, so the least traffic is exact.

    Among many similar numbers a kernel could compute a part and extrapolate. Spikes prevent that:
    in a sum of products (vectors) or of exponentials (rows) each weighs as much as a quarter of all
    other elements, more than the limit of error of such a long sum. Their number is random, or a
    kernel could stop after the last one. Integers accept no error and need no spikes.
    """

    def __init__(self, case: Case, device: torch.device | str, seed: int) -> None:
        self._case = case
        self._device = torch.device(device)
        self._random = torch.Generator(self._device).manual_seed(seed)
        self._numbers = random.Random(seed)  # separate, so they do not depend on the tensors
        self.drawn: list[Tensor] = []

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        name = dtype or self._case.dtype
        limit = min(extreme or math.inf, LARGEST[name])
        final = DTYPES[name]
        whole = is_whole(final)
        least, middle = 0.05, 0.0
        if whole:
            low, high = bounds(name, min(limit, EXACT_IN_FLOAT32))
            least, middle = 1.0, middle_of(low, high)
        drawn_in = torch.float32 if whole or final.itemsize == 1 else final
        values = torch.empty(shape, dtype=drawn_in, device=self._device)
        values.normal_(generator=self._random)
        of_rows = (*shape[:-1], 1)
        scale = self._uniform(of_rows, math.log(least), math.log(20.0)).exp().to(values.dtype)
        shift = self._uniform(of_rows, middle - 8.0, middle + 8.0).to(values.dtype)
        torch.addcmul(shift, values, scale, out=values)
        if whole:
            values = values.round_().clamp_(low, high).to(final)
        else:
            values = rounded(self._with_spikes(values, limit), final)
        self.drawn.append(values)
        return values

    def _with_spikes(self, values: Tensor, limit: float) -> Tensor:
        *rows, columns = values.shape
        where = self._below(columns, (*rows, 2 * SPIKES))
        weight = max(1.0, columns / 4)
        plain = values.gather(-1, where).double()
        spikes = plain * weight if not rows else plain + math.log(weight)
        chosen = self._below(2, where.shape).bool()
        chosen[..., :SPIKES] = True
        # A spike that is not chosen takes the place and the value of the first one. Two spikes on
        # one place must have one value, because either may be written last.
        where = torch.where(chosen, where, where[..., :1])
        spikes = torch.where(chosen, spikes, spikes[..., :1]).clamp(-limit, limit)
        return values.scatter_(-1, where, spikes.to(values.dtype))

    def _below(self, limit: int, shape: tuple[int, ...]) -> Tensor:
        return torch.randint(limit, shape, generator=self._random, device=self._device)

    def _uniform(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        return torch.empty(shape, device=self._device).uniform_(low, high, generator=self._random)

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        return self._below(below, (count,))

    def number(self, low: float, high: float) -> float:
        value = math.exp(self._numbers.uniform(math.log(low), math.log(high)))
        return torch.tensor(value, dtype=torch.float32).item()

    def factor(self, most: float) -> float:
        return self.number(min(1 / 64, most), min(4.0, most))

    def integer(self, low: int, high: int) -> int:
        return self._numbers.randint(low, high)

    def truth(self) -> bool:
        return self._numbers.random() < 0.5

    def seed(self) -> int:
        return self.integer(0, MOST_SEED)


class NumberDraw(LargeDraw):
    """Draws the numbers of the LargeDraw with this seed, and tensors without values.

    A call's numbers are needed before the memory of its tensors may be filled.
    """

    def __init__(self, case: Case, seed: int) -> None:
        super().__init__(case, "cpu", seed)

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        return torch.empty(shape, dtype=DTYPES[dtype or self._case.dtype], device="meta")

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        return torch.empty(count, dtype=torch.int64, device="meta")


def _seed_from(case: Case) -> int:
    """Derive a generator seed from every field of the case, the same in every process."""
    seed = case.seed
    for part in (*case.shape, case.pad, case.offset, *case.dtype.encode(), *case.draw.encode()):
        seed = (seed * 0x5851F42D4C957F2D + part + 0x14057B7EF767814F) % 2**63
    return seed


def with_layout(
    values: Tensor, pad: int, offset: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Copy the values to rows with `pad` elements between them, `offset` past a 16-byte boundary.

    The padding holds NaN, or the largest integer, so a kernel that reads it is wrong.
    """
    stride = values.shape[-1] + (pad if values.ndim > 1 else 0)
    rows = values.numel() // values.shape[-1]
    extent = (offset + rows * stride,)
    if is_whole(values.dtype):
        home = torch.full(extent, LARGEST[NAMES[values.dtype]], dtype=values.dtype, device=device)
    else:
        home = torch.full(extent, math.nan, dtype=torch.float32, device=values.device)
        home = home.to(device=device, dtype=values.dtype)
    strides = [stride] * values.ndim
    strides[-1] = 1
    for axis in range(values.ndim - 3, -1, -1):
        strides[axis] = strides[axis + 1] * values.shape[axis + 1]
    view = home.as_strided(values.shape, strides, offset)
    view.copy_(values)
    return view


def reseeded(case: Case, seed: int) -> Case:
    """Return the case with a seed of this run, unless its author chose one."""
    return case if case.seed else replace(case, seed=_seed_from(replace(case, seed=seed)) % 2**31)
