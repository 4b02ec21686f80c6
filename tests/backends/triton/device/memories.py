"""Memory of plain tensors, and accesses to it, for tests that need no kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.backends.triton.device.access import Access, Kind
from grader.backends.triton.device.mappings import Mapping
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.ttir.records import Site
from grader.worker.bounds import Span


def mapping_of(tensor: Tensor) -> Mapping:
    """Return the whole memory behind a tensor, at its own addresses."""
    storage = tensor.untyped_storage()
    data = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
    return Mapping(storage.data_ptr(), data)


def span_of(name: str, tensor: Tensor) -> Span:
    return Span.of(name, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.element_size())


def memory_of(observers: dict[str, Any] | None = None, /, **tensors: Tensor) -> Memory:
    """Return memory in which exactly these tensors may be touched."""
    mappings = {each.start: each for each in map(mapping_of, tensors.values())}
    spans = [span_of(name, tensor) for name, tensor in tensors.items()]
    return Memory(list(mappings.values()), spans, **(observers or {}))


def access(
    kind: Kind,
    tensor: Tensor,
    index: Tensor,
    mask: Tensor | None = None,
    programs: Tensor | None = None,
    line: int = 1,
    order: str = "relaxed",
) -> Access:
    """Return an access to the elements `index` (programs or 1, *block) of a tensor's memory."""
    if programs is None:
        programs = torch.arange(index.shape[0])
    return Access(
        kind=kind,
        addresses=tensor.data_ptr() + index.to(torch.int64) * tensor.element_size(),
        mask=mask,
        dtype=tensor.dtype,
        programs=programs,
        site=Site("kernel.py", line),
        order=order,
    )
