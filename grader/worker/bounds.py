"""The memory of an array, and the error of an access outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.worker.refusals import Refused

Access = Literal["load", "store", "atomic"]


class OutOfBounds(Refused):
    """The kernel touched memory, or used an index, outside of its arrays."""


@dataclass(frozen=True)
class Span:
    """The bytes from address `start` up to `stop`, exclusive, that belong to `name`."""

    start: int
    stop: int
    name: str

    @classmethod
    def of(
        cls, name: str, start: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
    ) -> Span:
        """Return the span of an array from its first byte to its last, gaps between rows included.

        `strides` are in elements.
        """
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        return cls(start, start + extent * itemsize, name)
