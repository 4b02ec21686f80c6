"""A scored case: its form, and the gates that its speed has to reach."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.model.cases import is_extent

MOST_SAMPLED = 2**20  # elements of a row of the sample case
MOST_OPERATIONS = 2**28  # of a call with the sample case, by the spec's `flops`
# If a row has fewer than FEWEST_IN_A_ROW elements, one row is not a model of the scored case: the
# sample case then has as many rows as make SAMPLED elements.
FEWEST_IN_A_ROW, SAMPLED = 256, 2**16


@dataclass(frozen=True, kw_only=True)
class Gates:
    """Shares of the ceiling: `passing` passes the speed step, `great` earns the label."""

    passing: float
    great: float

    @property
    def are_shares(self) -> bool:
        numbers = (self.passing, self.great)
        return all(isinstance(each, int | float) for each in numbers) and (
            0 < self.passing <= self.great <= 1
        )


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The case whose speed is scored. Its size follows from the GPU, so only its form is here.

    `columns` is the length of a row, or None for 1-D arguments; of arguments with more than two
    dimensions it has all extents but the first. `rows` is the first extent, for a bound that allows
    it; without it, it follows from the GPU. `bound` names the module of `grader.speed.bounds` with
    which the speed is compared. `against` is the file of another implementation with the spec's
    entry, for a bound that times one, such as the exercise's `eager.py`; with `compiled`,
    torch.compile makes a kernel of it. `gates` are those of this case, instead of the spec's.
    `capability` is the least compute capability for which the gates are meant, such as 90: an older
    GPU skips the step.
    """

    dtype: str
    columns: int | tuple[int, ...] | None = None
    bound: str = "bandwidth"
    rows: int | None = None
    against: Path | None = None
    compiled: bool = False
    gates: Gates | None = None
    capability: int | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """All extents but the first."""
        if isinstance(self.columns, tuple):
            return self.columns
        return () if self.columns is None else (self.columns,)

    @property
    def fixed_extents(self) -> tuple[int, ...]:
        """All extents that do not follow from the GPU."""
        return self.extents if self.rows is None else (self.rows, *self.extents)

    @property
    def row(self) -> str:
        """The extents in words, such as `8 × 2,048 × 64`; empty for 1-D arguments."""
        return " × ".join(f"{extent:,}" for extent in self.extents)

    @property
    def rows_in_words(self) -> str:
        """The first extent, such as `4,096 rows` or `one row`; `rows` where the GPU decides."""
        if self.rows is None:
            return "rows"
        return "one row" if self.rows == 1 else f"{self.rows:,} rows"


def small(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Halve the largest extent until a row of these has at most MOST_SAMPLED elements."""
    while math.prod(extents) > MOST_SAMPLED:
        extents = halved(extents)
    return extents


def halved(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Halve the largest extent, the first of several."""
    most = extents.index(max(extents))
    return (*extents[:most], extents[most] // 2, *extents[most + 1 :])


def sample_rows(extents: tuple[int, ...]) -> int:
    """Return how many rows of these extents a sample case has: one, unless they are short."""
    row = math.prod(extents)
    return 1 if row >= FEWEST_IN_A_ROW else SAMPLED // row


def faults_of_scored(scored: tuple[Scored, ...]) -> Iterator[str]:
    """Yield what is wrong with the scored cases of one spec."""
    for one in scored:
        if not all(map(is_extent, one.fixed_extents)):
            yield "rows and columns of a scored case are whole numbers, 1 or more"
        if not isinstance(one.bound, str):
            yield f'bound of a scored case is a name, such as "latency", and not {one.bound!r}'
        if not isinstance(one.against, Path | None):
            yield f"against of a scored case is a Path, and not {one.against!r}"
        if one.capability is not None and not (is_extent(one.capability) and one.capability >= 10):
            yield f"capability of a scored case is a number such as 90, and not {one.capability!r}"
    forms = [replace(one, gates=None) for one in scored]
    if any(forms.count(form) > 1 for form in forms):
        yield "scored and also_scored hold the same case twice"
