"""The functions of libdevice that are about bits: of integers, of casts and of special floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device import integers, rounding

Function = Callable[..., Tensor]


def _planes(x: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return the bits of each integer along a last axis, the highest first."""
    raw = x.contiguous().numpy()
    octets = raw.astype(raw.dtype.newbyteorder(">")).view(np.uint8).reshape(*x.shape, -1)
    return np.unpackbits(octets, axis=-1)


def _count_leading_zeros(x: Tensor) -> Tensor:
    planes = _planes(x)
    first = np.where(planes.any(-1), planes.argmax(-1), planes.shape[-1])
    return torch.from_numpy(first.astype(np.int32))


def _first_set(x: Tensor) -> Tensor:
    """Return the position of the lowest set bit, counted from 1; 0 if no bit is set."""
    planes = _planes(x)[..., ::-1]
    return torch.from_numpy(np.where(planes.any(-1), planes.argmax(-1) + 1, 0).astype(np.int32))


def _count_ones(x: Tensor) -> Tensor:
    return torch.from_numpy(_planes(x).sum(-1).astype(np.int32))


def _reversed(x: Tensor) -> Tensor:
    packed = np.packbits(np.ascontiguousarray(_planes(x)[..., ::-1]), axis=-1)
    big = packed.view(x.numpy().dtype.newbyteorder(">")).reshape(x.shape)
    return torch.from_numpy(big.astype(x.numpy().dtype))


def _byte_perm(x: Tensor, y: Tensor, selector: Tensor) -> Tensor:
    """Choose four of the eight bytes of y and x by the lowest four digits of a selector."""
    both = (integers.widened(y) << 32) | integers.widened(x)
    result = torch.zeros_like(both)
    for i in range(4):
        digit = (selector.to(torch.int64) >> (4 * i)) & 15
        octet = (both >> (8 * (digit & 7))) & 0xFF
        sign = torch.where(octet >= 0x80, 0xFF, 0)
        result = result | torch.where(digit >= 8, sign, octet) << (8 * i)
    return result.to(torch.int32)


def _of_wide(function: Function, *, unsigned: bool) -> Function:
    """Compute in 64 bits, and keep the lower 32."""

    def compute(*operands: Tensor) -> Tensor:
        wide = [integers.widened(each) if unsigned else each.long() for each in operands]
        return function(*wide).to(torch.int32)

    return compute


def _low_24(x: Tensor, *, unsigned: bool) -> Tensor:
    low = x & 0xFFFFFF
    return low if unsigned else torch.where(low >= 1 << 23, low - (1 << 24), low)


def _flag(function: Function) -> Function:
    return lambda x: function(x).to(torch.int32)


def _as(dtype: torch.dtype) -> Function:
    return lambda x: x.view(dtype)


def _half(x: Tensor, upper: bool) -> Tensor:
    bits = x.view(torch.int64)
    return (bits >> 32 if upper else bits).to(torch.int32)


def _from_halves(upper: Tensor, lower: Tensor) -> Tensor:
    return ((upper.long() << 32) | integers.widened(lower)).view(torch.float64)


def _approximate_reciprocal(x: Tensor) -> Tensor:
    """Return the upper half of 1 / x, the lower one zero."""
    return ((1 / x).view(torch.int64) & ~0xFFFFFFFF).view(torch.float64)


def _to_whole(function: Function) -> Function:
    return lambda x: function(x.double()).clamp(-(2.0**63), 2.0**63 - 1024).long()


BITS: Mapping[str, Function] = {
    "abs": torch.abs,
    "brev": _reversed,
    "brevll": _reversed,
    "byte_perm": _byte_perm,
    "clz": _count_leading_zeros,
    "clzll": _count_leading_zeros,
    "double2hiint": lambda x: _half(x, upper=True),
    "double2loint": lambda x: _half(x, upper=False),
    "double_as_longlong": _as(torch.int64),
    "ffs": _first_set,
    "ffsll": _first_set,
    "finitef": _flag(torch.isfinite),
    "float_as_int": _as(torch.int32),
    "float_as_uint": _as(torch.int32),
    "hadd": _of_wide(lambda x, y: (x + y) >> 1, unsigned=False),
    "hiloint2double": _from_halves,
    "int_as_float": _as(torch.float32),
    "isfinited": _flag(torch.isfinite),
    "isinfd": _flag(torch.isinf),
    "isinff": _flag(torch.isinf),
    "isnand": _flag(torch.isnan),
    "isnanf": _flag(torch.isnan),
    "llabs": torch.abs,
    "llrint": _to_whole(torch.round),
    "llrintf": _to_whole(torch.round),
    "llround": _to_whole(rounding.ties_away),
    "llroundf": _to_whole(rounding.ties_away),
    "longlong_as_double": _as(torch.float64),
    "mul24": _of_wide(
        lambda x, y: _low_24(x, unsigned=False) * _low_24(y, unsigned=False), unsigned=False
    ),
    "mul64hi": integers.high_product_signed,
    "mulhi": integers.high_product_signed,
    "nextafter": torch.nextafter,
    "nextafterf": torch.nextafter,
    "popc": _count_ones,
    "popcll": _count_ones,
    "rcp64h": _approximate_reciprocal,
    "rhadd": _of_wide(lambda x, y: (x + y + 1) >> 1, unsigned=False),
    "sad": _of_wide(lambda x, y, z: (x - y).abs() + z, unsigned=False),
    "signbitd": _flag(torch.signbit),
    "signbitf": _flag(torch.signbit),
    "uhadd": _of_wide(lambda x, y: (x + y) >> 1, unsigned=True),
    "uint_as_float": _as(torch.float32),
    "umul24": _of_wide(
        lambda x, y: _low_24(x, unsigned=True) * _low_24(y, unsigned=True), unsigned=True
    ),
    "umul64hi": integers.high_product_unsigned,
    "umulhi": integers.high_product_unsigned,
    "urhadd": _of_wide(lambda x, y: (x + y + 1) >> 1, unsigned=True),
    "usad": _of_wide(lambda x, y, z: (x - y).abs() + z, unsigned=True),
}
