"""From a case to tensors: the distributions that make a shortcut show.

Independent, identically distributed normal inputs let a kernel guess a reduction instead of doing
it: a softmax of N(0, 1) rows passes common tolerances with a constant for a denominator. So every
row has its own scale, shift and spikes, and ties, constant rows, extremes and subnormals occur.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.model import LARGEST, Case

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class CaseDraw:
    """Draws the tensors of one case; the same case gives the same values on every machine."""

    def __init__(self, case: Case, device: torch.device | str = "cpu") -> None:
        self._case = case
        self._device = torch.device(device)
        self._random = torch.Generator().manual_seed(_mix(case))
        self._padded = 0  # tensors drawn so far whose rows are apart

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        """See `spec.Draw`. Raises ValueError when the case names an unknown distribution."""
        name = dtype or self._case.dtype
        try:
            distribution = DISTRIBUTIONS[self._case.draw]
        except KeyError:
            raise ValueError(
                f"{self._case.draw!r} is not a distribution: use {', '.join(DISTRIBUTIONS)}"
            ) from None
        rows = math.prod(shape[:-1])
        limit = LARGEST[name]
        values = distribution(rows, shape[-1], self._random, min(extreme or limit, limit), name)
        rounded = values.to(DTYPES[name]).reshape(shape)
        pad = self._case.pad
        if pad:
            # Another row stride for each: a kernel that uses one for two of them is wrong. Outputs
            # are 2 further apart than the input that they are like (remote.destinations).
            pad += 3 * self._padded
            self._padded += 1
        return with_layout(rounded, pad, self._case.offset, self._device)

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        values = torch.randint(below, (count,), generator=self._random)
        if ignored is not None:
            dropped = torch.rand(count, generator=self._random) < 0.2
            values = values.masked_fill(dropped, ignored)
        return values.to(self._device)

    def number(self, low: float, high: float) -> float:
        share = torch.rand((), generator=self._random, dtype=torch.float64).item()
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return torch.tensor(value, dtype=torch.float32).item()


SPIKES = 16  # in a vector, or in each row, of the scored case; and up to as many again


class LargeDraw:
    """Draws the scored case on the GPU itself, in place and in the case's own dtype.

    Of the distributions only `rows`; no target is ignored, so that the least traffic is exact.
    Spikes keep a part from standing for the whole, as it does among many like numbers: each weighs
    as much as a quarter of all that are none, in a sum of products (vectors) or of exponentials
    (rows), which is more than the rounding of so long a sum is permitted to cost. Who knew their
    number could stop looking for them at the last.
    """

    def __init__(self, case: Case, device: torch.device | str, seed: int) -> None:
        self._case = case
        self._device = torch.device(device)
        self._random = torch.Generator(self._device).manual_seed(seed)
        self._numbers = random.Random(seed)  # apart, so that they do not depend on the tensors
        self.drawn: list[Tensor] = []

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        name = dtype or self._case.dtype
        limit = min(extreme or math.inf, LARGEST[name])
        values = torch.empty(shape, dtype=DTYPES[name], device=self._device)
        values.normal_(generator=self._random)
        of_rows = (*shape[:-1], 1)
        low, high = math.log(0.05), math.log(20.0)
        scale = self._uniform(of_rows, low, high).exp().to(values.dtype)
        shift = self._uniform(of_rows, -8.0, 8.0).to(values.dtype)
        torch.addcmul(shift, values, scale, out=values)
        where = self._below(shape[-1], (*shape[:-1], 2 * SPIKES))
        weight = max(1.0, shape[-1] / 4)
        plain = values.gather(-1, where).double()
        spikes = plain * weight if len(shape) == 1 else plain + math.log(weight)
        chosen = self._below(2, where.shape).bool()
        chosen[..., :SPIKES] = True
        # Who is not chosen gives way to the first, which is: of two that fall on one place either
        # may be written last.
        where = torch.where(chosen, where, where[..., :1])
        spikes = torch.where(chosen, spikes, spikes[..., :1]).clamp(-limit, limit)
        self.drawn.append(values.scatter_(-1, where, spikes.to(values.dtype)))
        return values

    def _below(self, limit: int, shape: tuple[int, ...]) -> Tensor:
        return torch.randint(limit, shape, generator=self._random, device=self._device)

    def _uniform(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        return torch.empty(shape, device=self._device).uniform_(low, high, generator=self._random)

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        return self._below(below, (count,))

    def number(self, low: float, high: float) -> float:
        value = math.exp(self._numbers.uniform(math.log(low), math.log(high)))
        return torch.tensor(value, dtype=torch.float32).item()


class NumberDraw(LargeDraw):
    """The numbers of the LargeDraw with this seed; of its tensors only shape and dtype.

    A call's numbers are needed before the memory that its tensors will lie in may be filled.
    """

    def __init__(self, case: Case, seed: int) -> None:
        super().__init__(case, "cpu", seed)

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        return torch.empty(shape, dtype=DTYPES[dtype or self._case.dtype], device="meta")

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        return torch.empty(count, dtype=torch.int64, device="meta")


def _mix(case: Case) -> int:
    """A generator seed in which every field of the case counts, the same in every process."""
    seed = case.seed
    for part in (*case.shape, case.pad, case.offset, *case.dtype.encode(), *case.draw.encode()):
        seed = (seed * 0x5851F42D4C957F2D + part + 0x14057B7EF767814F) % 2**63
    return seed


def with_layout(
    values: Tensor, pad: int, offset: int, device: torch.device | str = "cpu"
) -> Tensor:
    """The same values, rows `pad` elements apart and `offset` elements past a 16-byte boundary.

    What lies between the rows is NaN, so that reading it shows.
    """
    stride = values.shape[-1] + (pad if values.ndim > 1 else 0)
    rows = values.numel() // values.shape[-1]
    extent = (offset + rows * stride,)
    home = torch.full(extent, math.nan, dtype=torch.float32, device=values.device)
    home = home.to(device=device, dtype=values.dtype)
    strides = [stride] * values.ndim
    strides[-1] = 1
    for axis in range(values.ndim - 3, -1, -1):
        strides[axis] = strides[axis + 1] * values.shape[axis + 1]
    view = home.as_strided(values.shape, strides, offset)
    view.copy_(values)
    return view


Distribution = Callable[[int, int, torch.Generator, float, str], Tensor]


def _uniform(shape: tuple[int, ...], low: float, high: float, random: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=random, dtype=torch.float64)


def _normal(rows: int, columns: int, random: torch.Generator) -> Tensor:
    return torch.randn((rows, columns), generator=random, dtype=torch.float64)


def _rows(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Row scale log-uniform in [0.05, 20], shift in [-8, 8], one spike per 4,096 columns.

    The recipe of measuring.md D8: with it, a guess without the reduction passes 0 % of rows.
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
    """Four values a row, so that the maximum occurs many times."""
    palette = _uniform((rows, 4), -6.0, 6.0, random)
    return palette.gather(1, torch.randint(4, (rows, columns), generator=random))


def _constant(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    return _uniform((rows, 1), -8.0, 8.0, random).expand(rows, columns)


def _extremes(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Half the elements ordinary, half near ±`extreme`; the sign leans one way in each row."""
    lean = _uniform((rows, 1), 0.1, 0.9, random)
    sign = (_uniform((rows, columns), 0.0, 1.0, random) < lean).double() * 2 - 1
    large = sign * extreme * _uniform((rows, columns), 0.5, 1.0, random)
    chosen = torch.rand((rows, columns), generator=random) < 0.5
    return torch.where(chosen, large, _normal(rows, columns, random))


def _denormals(
    rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str
) -> Tensor:
    """Zeros of both signs, subnormal and ordinary small numbers, in equal parts."""
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
    """Only -1, 0 and 1: sums that a float32 holds exactly, so that any error shows."""
    return torch.randint(-1, 2, (rows, columns), generator=random).double()


def _spikes(rows: int, columns: int, random: torch.Generator, extreme: float, dtype: str) -> Tensor:
    """Normal numbers, and 120 once in each row: in its last column, then further to the left.

    With as many rows as columns, each column has one. exp(120) is no float32: a softmax whose
    maximum leaves a column out shows it, which a single spike at random would hardly do.
    """
    columns_of_them = columns - 1 - torch.arange(rows) * columns // rows
    return _normal(rows, columns, random).scatter_(1, columns_of_them.unsqueeze(1), 120.0)


DISTRIBUTIONS: dict[str, Distribution] = {
    "rows": _rows,
    "ties": _ties,
    "constant": _constant,
    "extremes": _extremes,
    "denormals": _denormals,
    "integers": _integers,
    "spikes": _spikes,
}


def reseeded(case: Case, seed: int) -> Case:
    """The case with a seed of this run, where its author left the seed open."""
    return case if case.seed else replace(case, seed=_mix(replace(case, seed=seed)) % 2**31)
