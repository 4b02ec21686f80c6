"""What a simulated kernel file holds in memory of its own, now and at most, in bytes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from grader.worker.dispatch import Dispatched
from grader.worker.guard import Span


class Allocations:
    """Memory seen so far, beyond the arena; `peak` is the most that lived at once."""

    def __init__(self, arena: Span | None = None) -> None:
        self._arena = arena
        self._held: dict[int, tuple[Callable[[], bool], int]] = {}
        self.peak = 0

    def see_storage(self, storage: torch.UntypedStorage) -> None:
        """A torch tensor lives in this memory."""
        own = self._arena is None or not self._arena.start <= storage.data_ptr() < self._arena.stop
        if own:
            # A weak reference to the storage itself: Python's object for it comes and goes.
            reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
            self._see(reference.cdata, storage.nbytes(), lambda: not reference.expired())  # type: ignore[no-untyped-call]

    def see_array(self, array: NDArray[Any]) -> None:
        """A device array lives in this memory, or in a part of it."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if array.base is None:  # the arguments are views of the arena's tensor
            reference = weakref.ref(array)
            self._see(id(array), array.nbytes, lambda: reference() is not None)

    def _see(self, key: int, size: int, alive: Callable[[], bool]) -> None:
        self._held[key] = (alive, size)
        self._held = {k: held for k, held in self._held.items() if held[0]()}
        self.peak = max(self.peak, sum(size for _, size in self._held.values()))


class Watch(Dispatched):  # type: ignore[no-untyped-call]
    """Notes the memory of every tensor that a torch operation makes while it is entered."""

    def __init__(self, allocations: Allocations) -> None:
        super().__init__()
        self._allocations = allocations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._allocations.see_storage(leaf.untyped_storage())
        return result
