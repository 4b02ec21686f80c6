"""Integer arithmetic that torch lacks: unsigned, and a GPU's division and shifts.

A tensor holds the bits of an integer in a signed dtype; i1 is bool.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

OF_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
_UNSIGNED = {torch.int8: np.uint8, torch.int16: np.uint16, torch.int32: np.uint32}


def as_integers(value: Tensor) -> Tensor:
    """Return the bits of a tensor's elements as integers of their size."""
    return value.view(OF_SIZE[value.dtype.itemsize])


def bits_of(dtype: torch.dtype) -> int:
    return 1 if dtype == torch.bool else torch.iinfo(dtype).bits


def signed(value: Tensor) -> Tensor:
    """Return i1 as int8, where true is -1; other integers as they are."""
    return -value.to(torch.int8) if value.dtype == torch.bool else value


def widened(value: Tensor) -> Tensor:
    """Return unsigned integers of up to 32 bits as int64; int64 keeps its bits."""
    if value.dtype in (torch.bool, torch.int64):
        return value.to(torch.int64)
    return value.to(torch.int64) & ((1 << bits_of(value.dtype)) - 1)


def ordered(value: Tensor) -> Tensor:
    """Return integers whose signed order is the unsigned order of these."""
    if value.dtype == torch.bool:
        return value
    return value ^ torch.iinfo(value.dtype).min


def unsigned_to_float(value: Tensor, dtype: torch.dtype) -> Tensor:
    if value.dtype != torch.int64:
        return widened(value).to(dtype)
    exact = np.float64 if dtype == torch.float64 else np.float32
    return torch.from_numpy(_unsigned(value).astype(exact)).to(dtype)


def divide(a: Tensor, b: Tensor) -> Tensor:
    """Divide, and round towards zero. By zero the result is -1, as on a GPU."""
    return _guarded(a, b, lambda x, y: torch.div(x, y, rounding_mode="trunc"), negated=True)


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """Return what truncating division leaves. By zero it is the dividend, as on a GPU."""
    return _guarded(a, b, torch.fmod, negated=False)


def _guarded(
    a: Tensor, b: Tensor, operate: Callable[[Tensor, Tensor], Tensor], *, negated: bool
) -> Tensor:
    """Divide where the processor can; it traps at zero, and at the lowest number by -1."""
    traps = (b == 0) | (b == -1)
    if not bool(traps.any()):
        return operate(a, b)
    result = operate(a, torch.where(traps, 1, b))
    by_zero, by_minus_one = (torch.full_like(a, -1), -a) if negated else (a, torch.zeros_like(a))
    result = torch.where(b == 0, by_zero, result)
    return torch.where(b == -1, by_minus_one, result)


def divide_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """Divide unsigned integers. Division by zero gives all bits set."""
    quotient = _unsigned_operation(np.floor_divide, a, torch.where(b == 0, 1, b))
    return torch.where(b == 0, torch.full_like(quotient, -1), quotient)


def remainder_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """Return the remainder of unsigned integers. Division by zero leaves the dividend."""
    rest = _unsigned_operation(np.remainder, a, torch.where(b == 0, 1, b))
    return torch.where(b == 0, a, rest)


def shift_right_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """Shift zeros in from the left; by the width or more, all bits leave."""
    if a.dtype != torch.int64:
        return (widened(a) >> widened(b)).to(a.dtype)
    # After an arithmetic shift, this mask clears the copies of the sign. torch shifts a negative
    # amount, which unsigned is beyond the width, like the width.
    mask = torch.iinfo(torch.int64).max >> (b - 1)
    return torch.where(b == 0, a, (a >> b) & mask)


def high_product_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """Return the upper half of the bits of an unsigned product."""
    if a.dtype != torch.int64:
        return ((widened(a) * widened(b)) >> bits_of(a.dtype)).to(a.dtype)
    low = 0xFFFFFFFF
    a_low, b_low = a & low, b & low
    a_high, b_high = (
        shift_right_unsigned(a, a.new_tensor(32)),
        shift_right_unsigned(b, b.new_tensor(32)),
    )
    first = shift_right_unsigned(a_low * b_low, a.new_tensor(32))
    middle = a_high * b_low + first
    second = a_low * b_high + (middle & low)
    carry = shift_right_unsigned(middle, a.new_tensor(32))
    return a_high * b_high + carry + shift_right_unsigned(second, a.new_tensor(32))


def high_product_signed(a: Tensor, b: Tensor) -> Tensor:
    """Return the upper half of the bits of a signed product."""
    if a.dtype != torch.int64:
        return ((a.to(torch.int64) * b.to(torch.int64)) >> bits_of(a.dtype)).to(a.dtype)
    high = high_product_unsigned(a, b)
    return high - torch.where(a < 0, b, 0) - torch.where(b < 0, a, 0)


def _unsigned(value: Tensor) -> NDArray[np.unsignedinteger]:
    return value.numpy().view(_UNSIGNED.get(value.dtype, np.uint64))


def _unsigned_operation(operate: np.ufunc, a: Tensor, b: Tensor) -> Tensor:
    result = np.atleast_1d(operate(_unsigned(a), _unsigned(b)))
    return torch.from_numpy(result).view(a.dtype)
