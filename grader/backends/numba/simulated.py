"""numba CUDA kernels in a worker without a GPU: simulated, on arrays that view the arena.

Torch is not imported here: it would take half the time of a puzzle's check.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.backends.numba.simulator import counts, device_arrays, launched, setup
from grader.backends.numba.simulator.access_log import Log
from grader.backends.numba.simulator.arrays import Note
from grader.backends.numba.simulator.parent_arrays import address_of
from grader.model import Specialisation, Traced
from grader.worker import refusals
from grader.worker.allocations import Allocations
from grader.worker.bounds import Span
from grader.worker.launches import Withheld
from grader.worker.races import runs_backwards
from grader.worker.traffic_counter import Ledger


@dataclass(frozen=True)
class Logged:
    """The accesses of one call, for the judge."""

    _log: Log

    def keep_values(self) -> None:
        self._log.keep_values()

    def counts(self, file: str) -> dict[str, int]:
        return counts.facts(self._log, file)

    def traced(self, file: str) -> Traced:
        return self._log.traced(file)


class Simulated:
    """Kernels run in numba's CUDA simulator."""

    def __init__(self) -> None:
        self._ledger: Ledger | None = None
        self._other_order = False

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        assert fd is not None
        self._memory = mmap.mmap(fd, ticket["size"])
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        noting = partial(self._noting, ref["name"])
        return device_arrays.device_array(self._array(ref), noting, ref["name"])

    def _array(self, ref: Mapping[str, Any]) -> NDArray[Any]:
        dtype = np.dtype(ref["dtype"])
        strides = [stride * dtype.itemsize for stride in ref["strides"]]
        return np.ndarray(ref["shape"], dtype, self._memory, ref["offset"], strides)

    def _span(self, ref: Mapping[str, Any]) -> tuple[Span, int]:
        """Return the memory of a `TensorRef`, and the size of its elements in bytes."""
        array = self._array(ref)
        start, size = address_of(array), array.itemsize
        return Span.of(ref["name"], start, ref["shape"], ref["strides"], size), size

    def _noting(self, name: str) -> Note | None:
        return None if self._ledger is None else partial(self._ledger.add, name)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Begin a call; the simulator itself checks every index against its array."""
        refusals.begin()
        launched.forget()
        shapes = (ref["shape"] for ref in refs)
        setup.run_blocks(runs_backwards(shapes, self._other_order))

    @contextmanager
    def in_other_order(self) -> Iterator[None]:
        self._other_order = True
        try:
            yield
        finally:
            self._other_order = False

    def watching(self) -> AbstractContextManager[object]:
        return device_arrays.watching(self.allocations.see_array)

    @contextmanager
    def counting(self, refs: list[Mapping[str, Any]]) -> Iterator[Ledger]:
        self._ledger = Ledger(map(self._span, refs))
        try:
            yield self._ledger
        finally:
            self._ledger = None

    @contextmanager
    def logging(self) -> Iterator[Logged]:
        with setup.logging() as log:
            yield Logged(log)

    def mark(self) -> None:
        """Do nothing: simulated kernels are not timed."""

    def observing(self) -> AbstractContextManager[None]:
        return nullcontext()  # nothing is compiled

    def launched(self) -> tuple[Specialisation, ...]:
        return launched.launched()

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        return setup.undoing()

    def synchronize(self) -> None:
        """Raise a refusal of the simulator that the file caught; nothing is left to wait for."""
        refusals.settle()

    def settle(self) -> None:
        """Do nothing: a simulator holds no memory of a GPU."""

    def root_cause(self, error: BaseException) -> BaseException:
        return error


def install() -> type[Simulated]:
    """Prepare this process before workers are forked; return a factory of backends for them."""
    setup.install()
    return Simulated


def preload() -> None:
    """Load the compiler: 0.3 s of a first launch."""
    from numba import cuda, types

    cuda.jit(_nothing).compile((types.float32[::1],))


def _nothing(out):  # type: ignore[no-untyped-def]  # numba reads its types from the signature
    pass
