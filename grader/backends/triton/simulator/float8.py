"""8-bit floats, which numpy lacks: the two that torch has, kept as uint8.

Triton's interpreter rounds them wrongly: 7.75 becomes 4, for a carry into the exponent is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# The number of each of the 256 patterns, by the name of Triton's type.
_NUMBERS = {
    name: torch.arange(256).to(torch.uint8).view(dtype).double().numpy()
    for name, dtype in (("fp8e4nv", torch.float8_e4m3fn), ("fp8e5", torch.float8_e5m2))
}
_NAN = 0x7F  # in both


def known(dtype: Any) -> bool:
    return dtype.scalar.name in _NUMBERS


def from_float8(bits: NDArray[np.uint8], dtype: Any) -> NDArray[np.float32]:
    return _NUMBERS[dtype.scalar.name][bits].astype(np.float32)


def to_float8(values: NDArray[Any], dtype: Any, nearest: bool = True) -> NDArray[np.uint8]:
    """Round to the nearest, ties to even, or towards zero.

    Numbers beyond the largest become the largest, as on a GPU (cvt.rn.satfinite).
    """
    wide = values.astype(np.float64)
    numbers = _NUMBERS[dtype.scalar.name]
    finite = numbers[: int(np.isfinite(numbers[:128]).sum())]  # positive ones, which come in order
    size = np.abs(wide)
    below = np.searchsorted(finite, size, side="right") - 1
    above = np.minimum(below + 1, len(finite) - 1)
    middle = (finite[below] + finite[above]) / 2
    up = (size > middle) | ((size == middle) & (below % 2 == 1))
    found = np.where(up & nearest, above, below)
    found = np.where(np.isnan(wide), _NAN, found)
    return (found | np.where(np.signbit(wide), 0x80, 0)).astype(np.uint8)
