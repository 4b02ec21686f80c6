"""Bit patterns that outputs hold before a call, and by which memory shows that nobody wrote it."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.correctness import bits, has_unused_nan

# Bytes that are no bool: a kernel writes 0 or 1, or for True by mistake all bits.
NO_BOOL = range(2, 255)


@dataclass(frozen=True)
class Poison:
    """The pattern of one call.

    Floats of 16 and 32 bits get a NaN that no arithmetic makes, bools a byte that is none. Other
    dtypes have no such value: each element gets random bits of its own, so that whoever leaves
    some as they were has few of them right by chance.
    """

    nan: int  # bits of a float32, of which 16-bit dtypes take the upper half
    byte: int
    seed: int

    @classmethod
    def fresh(cls) -> Poison:
        # A quiet NaN with random payload, so that nobody can write the pattern on purpose. Of the
        # upper half, which 16-bit dtypes take, one bit is set and one is clear: the NaNs that
        # arithmetic makes have all payload bits clear on a CPU, and all set on a GPU.
        secret = random.SystemRandom()
        payload = secret.randrange(1 << 22) & ~(1 << 17) | 1 << 16
        return cls(0x7FC00000 | payload, secret.choice(NO_BOOL), secret.getrandbits(62))

    def fill(self, view: Tensor) -> None:
        bits(view).copy_(self._pattern(view))

    def left_in(self, view: Tensor) -> Tensor:
        """Mark the elements that still hold the pattern."""
        return bits(view) == self._pattern(view)

    def at(self, view: Tensor, places: Tensor) -> Tensor:
        """Return the bits that `fill` leaves in elements of a tensor, counted row by row."""
        constant = self._constant(view.dtype)
        if constant is None:
            return self._pattern(view).reshape(-1)[places]
        return bits(view).new_full(places.shape, constant)

    def _pattern(self, view: Tensor) -> Tensor:
        """As integers of the tensor's width, in its shape."""
        word, constant = bits(view), self._constant(view.dtype)
        if constant is not None:
            return word.new_full((), constant).expand(view.shape)
        # Of 64 bits torch takes no bound beyond the largest, which then does not occur.
        low, high = torch.iinfo(word.dtype).min, torch.iinfo(word.dtype).max
        high += word.element_size() < 8
        seeded = torch.Generator(view.device).manual_seed(self.seed)
        found = torch.empty(view.shape, dtype=word.dtype, device=view.device)
        return found.random_(low, high, generator=seeded)

    def _constant(self, dtype: torch.dtype) -> int | None:
        """Return the bits that every element gets, or None where each gets its own."""
        if dtype == torch.bool:
            return self.byte
        if not has_unused_nan(dtype):
            return None
        if dtype == torch.float32:
            return self.nan
        return 0x7E00 | (self.nan >> 16) & 0x1FF if dtype == torch.float16 else self.nan >> 16
