"""The worst element of a wrong output, where the wrong ones lie, and the words for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from grader.correctness.dtypes import NAMES, is_whole


@dataclass(frozen=True)
class Mismatch:
    """The worst element of one argument, and how many elements are wrong.

    `marked` marks these elements, in the shape of the argument. Where the output is random,
    `choices` are the names and values of the choices that the worst one has.
    """

    argument: str
    kind: str  # never_written, not_finite, value, rounding, rms or share
    index: tuple[int, ...]
    expected: float
    got: float
    limit: float
    wrong: int
    total: int
    where: str
    dtype: torch.dtype = torch.float32
    marked: Tensor | None = field(default=None, compare=False, repr=False)
    choices: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of_share(
        cls,
        argument: str,
        choice: str,
        count: int,
        total: int,
        probability: float,
        dtype: torch.dtype,
    ) -> Mismatch:
        """Build the one of an output of which too many or too few elements took a choice."""
        return cls(
            argument=argument,
            kind="share",
            index=(),
            expected=probability,
            got=count / total,
            limit=0.0,
            wrong=count,
            total=total,
            where=choice,
            dtype=dtype,
        )

    @property
    def message(self) -> str:
        if self.kind == "share":
            return share_text(self.got, self.argument, self.where, self.expected)
        place = f"{self.argument}{list(self.index)}"
        if self.kind == "never_written":
            return f"{place} was never written"
        if self.kind == "rms":
            return f"the errors in {place}'s row are too large as a whole, though each is small"
        if self.kind == "rounding":
            return f"{place} is not the nearest {NAMES[self.dtype]} to the exact result"
        if self.choices:
            names = [name for name, _ in self.choices]
            return f"{place} is neither {', '.join(names[:-1])} nor {names[-1]}"
        return f"{place} is wrong"

    @property
    def got_text(self) -> str:
        if self.kind == "never_written":
            return "what was there before the call"
        if self.kind == "share":
            return f"{self.got:.4f} {self.where}"
        return number_text(self.got, self.dtype)

    @property
    def expected_text(self) -> str:
        limit = self.limit if self.kind == "value" else 0.0
        value = self.expected
        if self.kind == "share":
            return f"{value:.4f} {self.where}"
        if self.choices:
            texts = [f"{number_text(one, self.dtype)} if {name}" for name, one in self.choices]
            return ", ".join(texts[:-1]) + f" or {texts[-1]}"
        if self.kind == "rounding":
            value = torch.tensor(value, dtype=torch.float64).to(self.dtype).item()
        return expected_text(value, limit, self.dtype)


def share_text(share: float, argument: str, choice: str, asked: float) -> str:
    return (
        f"{share:.4f} of the elements of {argument} are {choice}, "
        f"and the exercise asks for {asked:.4f}"
    )


def expected_text(value: float, limit: float, dtype: torch.dtype) -> str:
    return number_text(value, dtype) + (f" ± {limit:.2g}" if limit else "")


def number_text(value: float, dtype: torch.dtype = torch.float32) -> str:
    if dtype == torch.bool:
        return str(bool(value)) if value in (0, 1) else f"a byte of {value}, no bool"
    return str(value) if is_whole(dtype) else f"{value + 0.0:.7g}"  # -0.0 is 0


def worst_of(
    argument: str,
    dtype: torch.dtype,
    got: Tensor,
    answer: Tensor,
    kind: str,
    wrong: Tensor,
    badness: Tensor,
    limit: Tensor | None = None,
) -> Mismatch:
    flat = int(badness.double().argmax())
    index = unravel_index(got.shape, flat)
    return Mismatch(
        argument=argument,
        kind=kind,
        index=index,
        expected=answer[index].item(),
        got=got[index].item(),
        limit=0.0 if limit is None else float(limit[index]),
        wrong=int(wrong.sum()),
        total=wrong.numel(),
        where=describe_where(wrong),
        dtype=dtype,
        marked=wrong,
    )


def unravel_index(shape: Sequence[int], flat: int) -> tuple[int, ...]:
    # torch's `unravel_index` imports sympy first, which takes half a second.
    return tuple(int(i) for i in np.unravel_index(flat, tuple(shape)))


def describe_where(wrong: Tensor) -> str:
    """Describe the marked elements, such as `columns 1024 to 2047 of every row`."""
    if bool(wrong.all()):
        return "every element"
    if wrong.ndim < 2:
        return _extent("element", wrong.nonzero().flatten())
    rows = wrong.reshape(-1, wrong.shape[-1]).any(-1).nonzero().flatten()
    columns = wrong.reshape(-1, wrong.shape[-1]).any(0).nonzero().flatten()
    all_rows = len(rows) == wrong.numel() // wrong.shape[-1]
    all_columns = len(columns) == wrong.shape[-1]
    of_rows = "every row" if all_rows and len(rows) > 1 else _extent("row", rows)
    if all_columns:
        return of_rows if not all_rows else "columns all over, in every row"
    return f"{_extent('column', columns)} of {of_rows}"


def _extent(noun: str, marked: Tensor) -> str:
    first, last, count = int(marked[0]), int(marked[-1]), len(marked)
    if count == 1:
        return f"{noun} {first}"
    if last - first + 1 == count:
        return f"{noun}s {first} to {last}"
    return f"{count} {noun}s between {first} and {last}"
