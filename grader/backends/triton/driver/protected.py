"""The arguments' memory, closed to the worker but while torch carries an operation out.

On a GPU neither numpy nor ctypes reaches an argument. Here they would, and nothing would count it.
A file that opens the memory itself, by the C library's mprotect, still reads it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import PROT_READ, PROT_WRITE
from typing import Any

import torch

from grader.worker.linux import LIBC, must
from grader.worker.torch_operations import Dispatched

PROT_NONE = 0  # sys/mman.h; Python's mmap has no name for it, and no mprotect


class Protected:
    """Memory of whole pages that nothing reads or writes but within `opened`."""

    def __init__(self, memory: torch.Tensor) -> None:
        self._start, self._size = memory.data_ptr(), memory.nbytes
        self._users = 0
        self._allow(PROT_NONE)

    @contextmanager
    def opened(self) -> Iterator[None]:
        if not self._users:
            self._allow(PROT_READ | PROT_WRITE)
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._allow(PROT_NONE)

    def _allow(self, access: int) -> None:
        must(LIBC.mprotect(ctypes.c_void_p(self._start), ctypes.c_size_t(self._size), access))


class Opening(Dispatched):
    """Opens memory for each torch operation: those are counted, where a count is asked for."""

    def __init__(self, protected: Protected) -> None:
        super().__init__()
        self._protected = protected

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self._protected.opened():
            return func(*args, **(kwargs or {}))
