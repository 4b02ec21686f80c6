"""Bit patterns that outputs hold before a call: memory that nobody wrote shows by them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.correctness import bits, has_unused_nan

# Bytes that are not a bool: a kernel writes 0 or 1, or by mistake all bits for True.
NO_BOOL = range(2, 255)


@dataclass(frozen=True)
class Poison:
    """The pattern of one call.

    Floats of 16 and 32 bits get a NaN that no arithmetic makes. Bools get a byte that is neither 0
    nor 1. Other dtypes have no such value: each element gets random bits, so elements that a kernel
    leaves untouched are rarely right by chance.
    """

    nan: int  # bits of a float32; 16-bit dtypes take the upper half
    byte: int
    seed: int

    @classmethod
    def fresh(cls) -> Poison:
        # A quiet NaN with random payload: nobody can write the pattern on purpose. In the upper
        # half, which 16-bit dtypes take, one bit is set and one is clear: NaNs from arithmetic have
        # all payload bits clear on a CPU, and all set on a GPU.
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
        """Return the pattern as integers of the tensor's width, in its shape."""
        word, constant = bits(view), self._constant(view.dtype)
        if constant is not None:
            return word.new_full((), constant).expand(view.shape)
        # For 64 bits torch takes no bound beyond the largest value, which then does not occur.
        low, high = torch.iinfo(word.dtype).min, torch.iinfo(word.dtype).max
        high += word.element_size() < 8
        seeded = torch.Generator(view.device).manual_seed(self.seed)
        pattern = torch.empty(view.shape, dtype=word.dtype, device=view.device)
        return pattern.random_(low, high, generator=seeded)

    def _constant(self, dtype: torch.dtype) -> int | None:
        """Return the bits that all elements share, or None where each has its own."""
        if dtype == torch.bool:
            return self.byte
        if not has_unused_nan(dtype):
            return None
        if dtype == torch.float32:
            return self.nan
        return 0x7E00 | (self.nan >> 16) & 0x1FF if dtype == torch.float16 else self.nan >> 16
