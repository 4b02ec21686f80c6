"""The worker's side of the arena: map it, and view torch tensors in it."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from typing import Any

import torch

from grader.worker.bounds import Span


def map_arena(ticket: Mapping[str, Any], fd: int | None) -> torch.Tensor:
    size = ticket["size"]
    assert fd is not None
    if ticket["kind"] == "host":
        return torch.frombuffer(mmap.mmap(fd, size), dtype=torch.uint8)
    from grader.machine import SharedMemory

    torch.cuda.synchronize()  # creates the CUDA context
    return torch.as_tensor(SharedMemory.open(fd, size), device="cuda")


class Views:
    """The entry's argument for each place in the arena: `wrap` of the tensor there.

    Each argument is made once, because making it would be timed.
    """

    def __init__(self, memory: torch.Tensor, wrap: Callable[[torch.Tensor], object]) -> None:
        self._memory = memory
        self._wrap = wrap
        self._made: dict[tuple[object, ...], object] = {}

    def at(self, ref: Mapping[str, Any]) -> object:
        key = (ref["offset"], ref["dtype"], *ref["shape"], *ref["strides"])
        if key not in self._made:
            self._made[key] = self._wrap(tensor_at(self._memory, ref))
        return self._made[key]


def tensor_at(memory: torch.Tensor, ref: Mapping[str, Any]) -> torch.Tensor:
    dtype = getattr(torch, ref["dtype"])
    shape, strides = ref["shape"], ref["strides"]
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    start = ref["offset"]
    window = memory[start : start + extent * dtype.itemsize].view(dtype)
    return window.as_strided(shape, strides)


def span_of(ref: Mapping[str, Any], tensor: torch.Tensor) -> Span:
    return Span.of(
        ref["name"], tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.element_size()
    )
