"""Numbers of every dtype: by name, as bits, and in a wide dtype that holds each of them exactly.

Torch has few operations for bool and for floats of 8 bits. Code that compares or counts uses
`widened`; code that copies or looks for a pattern uses `bits`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grader.model import ITEMSIZE, LARGEST

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in ITEMSIZE}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by their bytes


def is_whole(dtype: torch.dtype) -> bool:
    """Say whether a dtype holds integers or bools, which accept no error."""
    return not dtype.is_floating_point


def has_unused_nan(dtype: torch.dtype) -> bool:
    """Say whether a dtype has NaNs that no arithmetic makes: floats of 16 bits and more do."""
    return dtype.is_floating_point and dtype.itemsize > 1


def smallest(dtype: torch.dtype) -> int:
    return 0 if dtype == torch.bool else torch.iinfo(dtype).min


def bits(values: Tensor) -> Tensor:
    """Return a view of the same memory as integers of the same width."""
    return values.view(WORDS[values.element_size()])


def widened(values: Tensor) -> Tensor:
    """Return floats as float64, integers and bools as int64.

    A byte of a bool tensor that is neither 0 nor 1 keeps its value, which no right output has.
    """
    if values.dtype == torch.bool:
        return bits(values).long()
    return values.double() if values.is_floating_point() else values.long()


def rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Round floats to another dtype of floats, in 8 bits to its largest number at most."""
    if dtype.itemsize > 1:
        return values.to(dtype)
    most = LARGEST[NAMES[dtype]]
    return values.float().clamp(-most, most).to(dtype)
