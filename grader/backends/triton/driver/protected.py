"""The arguments' memory, closed to the worker but while torch carries an operation out on it.

On a GPU neither numpy nor ctypes reaches an argument. Here they would, and nothing would count it.
A file that opens the memory itself, by the C library's mprotect, still reads it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import PAGESIZE, PROT_READ, PROT_WRITE
from typing import Any

import torch

from grader.worker.leaves import leaves
from grader.worker.linux import LIBC, must
from grader.worker.torch_operations import Dispatched, moves

PROT_NONE = 0  # sys/mman.h; Python's mmap has no name for it, and no mprotect


class Protected:
    """Memory that is inaccessible, except for the pages that `opened` unlocks."""

    def __init__(self, memory: torch.Tensor) -> None:
        self._memory = range(memory.data_ptr(), memory.data_ptr() + memory.nbytes)
        self._open: list[range] = []
        self._users = 0
        _allow(self._memory, PROT_NONE)

    @contextmanager
    def opened(self, given: object) -> Iterator[None]:
        """Open the memory of the tensors in `given` until the outermost such block ends.

        Of plain tensors only their pages are unlocked, since mprotect visits every page in use. For
        any other tensor, all of the memory is.
        """
        for leaf in leaves(given):
            if isinstance(leaf, torch.Tensor) and (pages := self._pages(leaf)):
                _allow(pages, PROT_READ | PROT_WRITE)
                self._open.append(pages)
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            while self._open and not self._users:
                _allow(self._open.pop(), PROT_NONE)

    def _pages(self, tensor: torch.Tensor) -> range:
        if not _is_plain(tensor):
            return self._memory  # a subclass hides which memory it uses
        start = tensor.data_ptr()
        if start not in self._memory or not tensor.numel():
            return range(0)
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        stop = start + (1 + sum((n - 1) * step for n, step in steps)) * tensor.element_size()
        return range(
            start // PAGESIZE * PAGESIZE,
            min(-(-stop // PAGESIZE) * PAGESIZE, self._memory.stop),
        )


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided


def _allow(pages: range, access: int) -> None:
    must(LIBC.mprotect(ctypes.c_void_p(pages.start), ctypes.c_size_t(len(pages)), access))


class Opening(Dispatched):
    """Opens the memory of each torch operation's tensors while it runs, if it moves elements."""

    def __init__(self, protected: Protected) -> None:
        super().__init__()
        self._protected = protected

    def operate(self, func: Any, args: Any, kwargs: Any) -> Any:
        with self._protected.opened((args, kwargs) if moves(func._schema) else ()):
            return func(*args, **kwargs)
