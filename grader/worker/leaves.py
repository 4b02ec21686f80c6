"""The tensors and other values that lie in lists, tuples and dictionaries of torch's arguments."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.utils._pytree import tree_leaves

# What torch's operations mostly take and return. Torch asks of each value a dozen questions.
_LEAVES = frozenset(
    {
        *(torch.Tensor, torch.dtype, torch.device, torch.layout, torch.memory_format),
        *(bool, int, float, complex, str, type(None)),
    }
)


def leaves(value: object) -> Iterator[object]:
    """Yield what `tree_leaves` returns, in its order."""
    kind = type(value)
    if kind in _LEAVES:
        yield value
    elif isinstance(value, tuple | list) and kind in (tuple, list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict) and kind is dict:
        for each in value.values():
            yield from leaves(each)
    else:
        yield from tree_leaves(value)
