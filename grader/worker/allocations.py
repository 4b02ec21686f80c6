"""Memory that a simulated kernel file holds beside the arena, now and at most, in bytes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Allocations:
    """Allocations beyond the arena; `peak` is the most that lived at once."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Callable[[], bool], int]] = {}
        self.peak = 0

    def see_array(self, array: NDArray[Any]) -> None:
        """Record the memory of a device array; views count as the array that they view."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if array.base is None:  # the arguments are views of the arena's memory
            reference = weakref.ref(array)
            self.see(id(array), array.nbytes, lambda: reference() is not None)

    def see(self, key: int, size: int, alive: Callable[[], bool]) -> None:
        """Record `size` bytes, known by `key`, that are held while `alive()` is true."""
        self._held[key] = (alive, size)
        self._held = {k: held for k, held in self._held.items() if held[0]()}
        self.peak = max(self.peak, sum(size for _, size in self._held.values()))
