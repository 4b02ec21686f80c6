"""Atomic operations, which read and write their element as one, in the array's dtype."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.backends.numba.simulator.bits import wrapped
from grader.backends.numba.simulator.races import Threads

# What an operation writes, from the element before and the value given, both of the array's dtype.
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "inc": lambda old, value: type(old)(0) if old >= value else old + type(old)(1),
    "dec": lambda old, value: value if old == 0 or old > value else old - type(old)(1),
    "exch": lambda old, value: value,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
}


class Atomic:
    """The atomic operations of one launch, as `cuda.atomic`."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def compare_and_swap(self, ary: Any, old: Any, val: Any) -> Any:
        return self._update(ary, (0,) * ary.ndim, _if_equal(old), val)

    def cas(self, ary: Any, idx: Any, old: Any, val: Any) -> Any:
        return self._update(ary, idx, _if_equal(old), val)

    def _update(self, ary: Any, idx: Any, operation: Callable[[Any, Any], Any], val: Any) -> Any:
        """Apply an operation to an element as one atomic access; return the old value.

        The learner's code must be two frames up: its place marks the access.
        """
        threads, frame = self._threads, sys._getframe(2)
        threads.atomic = (frame.f_code, frame.f_lasti)
        try:
            old = ary[idx]
            ary[idx] = wrapped(operation(old, wrapped(val, ary.dtype)), ary.dtype)
            return old
        finally:
            threads.atomic = None


def _if_equal(expected: Any) -> Callable[[Any, Any], Any]:
    return lambda old, value: value if old == wrapped(expected, old.dtype) else old


def _operation(name: str) -> Callable[..., Any]:
    def atomic(self: Atomic, ary: Any, idx: Any, val: Any) -> Any:
        return self._update(ary, idx, OPERATIONS[name], val)

    atomic.__name__ = name
    return atomic


for _name in OPERATIONS:
    setattr(Atomic, _name, _operation(_name))
