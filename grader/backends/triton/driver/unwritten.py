"""Memory that a file allocates and does not fill, with bits that the device recognises."""

from __future__ import annotations

from typing import Any

import torch

from grader.backends.triton.undefined import unwritten_bits
from grader.worker.torch_operations import Allocating

_INTEGER = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_EMPTY = frozenset(
    {
        torch.ops.aten.empty.memory_format,
        torch.ops.aten.empty_like.default,
        torch.ops.aten.empty_strided.default,
        torch.ops.aten.new_empty.default,
        torch.ops.aten.new_empty_strided.default,
    }
)


class Marking(Allocating):
    """Records the memory of tensors, and marks what torch leaves without contents."""

    def operate(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = super().operate(func, args, kwargs)
        if func in _EMPTY:
            mark(result)
        return result


def mark(tensor: torch.Tensor) -> None:
    """Fill the memory behind a tensor; of types without a mark it stays as it is."""
    bits = unwritten_bits(tensor.dtype)
    if bits is not None and not tensor.is_meta:
        integers = torch.empty(0, dtype=_INTEGER[tensor.itemsize])
        integers.set_(tensor.untyped_storage()).fill_(bits)
