"""The worker's memory in the device's own mappings: addresses become places, elements bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.faults import Malformed

Places = NDArray[np.int64]
Bits = NDArray[Any]  # signed integers of an element's size


@dataclass(frozen=True)
class Mapping:
    """Bytes that the worker has from the address `start` on, where the device has them."""

    start: int
    data: NDArray[np.uint8]

    @property
    def stop(self) -> int:
        return self.start + self.data.size

    def elements(self, size: int) -> Bits:
        """Return the bytes as integers of a size; bytes at the end that make none are left out."""
        return self.data[: self.data.size // size * size].view(f"i{size}")

    def runs(self, size: int, run: int) -> Bits:
        """Return for each element a view of the run of elements that begins there."""
        elements = self.elements(size)
        if run == 1:
            return elements
        shape = (max(0, elements.size - run + 1), run)
        return np.ndarray(shape, elements.dtype, elements, strides=(size, size))


class Mappings:
    """All memory that a launch may name; its callers have checked the bounds."""

    def __init__(self, mappings: Sequence[Mapping]) -> None:
        """Raise Malformed if two mappings overlap."""
        self._mappings = sorted(mappings, key=lambda mapping: mapping.start)
        for one, following in zip(self._mappings, self._mappings[1:], strict=False):
            if one.stop > following.start:
                raise Malformed("two pieces of memory have the same address")

    def holds(self, start: int, stop: int) -> bool:
        return any(each.start <= start and stop <= each.stop for each in self._mappings)

    def misaligned(self, addresses: Places, size: int) -> bool:
        """Report whether an offset in an array is not a multiple of the element's size."""
        for mapping, chosen in self._parts(addresses):
            offsets = addresses[chosen] - mapping.start
            if int(np.bitwise_or.reduce(offsets)) & (size - 1):
                return True
        return False

    def read(self, starts: Places, size: int, run: int = 1) -> Bits:
        """Return a copy of the elements: from each of `starts` on, a run that follow each other."""
        shape = starts.size if run == 1 else (starts.size, run)
        bits = np.empty(shape, f"i{size}")
        for mapping, chosen in self._parts(starts):
            places = (starts[chosen] - mapping.start) >> _shift(size)
            found: Bits = mapping.runs(size, run)[places]
            if len(found) == len(bits):
                bits = found
                break
            bits[chosen] = found
        return bits.reshape(-1)

    def write(self, starts: Places, bits: Bits, run: int = 1) -> None:
        """Set the elements of such runs."""
        size = bits.itemsize
        rows = bits if run == 1 else bits.reshape(-1, run)
        for mapping, chosen in self._parts(starts):
            places = (starts[chosen] - mapping.start) >> _shift(size)
            mapping.runs(size, run)[places] = rows[chosen]

    def _parts(self, addresses: Places) -> Iterator[tuple[Mapping, slice | NDArray[np.bool_]]]:
        """Yield each mapping that holds some of the addresses, and what selects those."""
        if len(self._mappings) == 1:
            yield self._mappings[0], slice(None)
            return
        low, high = addresses.min(), addresses.max()
        for mapping in self._mappings:
            if mapping.start <= low and high < mapping.stop:
                yield mapping, slice(None)
                return
        for mapping in self._mappings:
            inside = (addresses >= mapping.start) & (addresses < mapping.stop)
            if inside.any():
                yield mapping, inside


def _shift(size: int) -> int:
    return size.bit_length() - 1
