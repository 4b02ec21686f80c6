"""Memory that a simulated kernel file holds beside the arena, now and at most, in bytes."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.model import Holdings


class Allocations(Holdings):
    """Allocations beyond the arena."""

    def see_array(self, array: NDArray[Any]) -> None:
        """Record the memory of a device array; views count as the array that they view."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if array.base is None:  # the arguments are views of the arena's memory
            reference = weakref.ref(array)
            self.see(id(array), array.nbytes, lambda: reference() is not None)
