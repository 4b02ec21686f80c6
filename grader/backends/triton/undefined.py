"""Bits that stand for undefined values, so that their origin shows wherever they get.

A NaN has bits to spare. They hold a number: that of a load, or UNWRITTEN in memory that a kernel
file allocated and nothing has written to.
"""

from __future__ import annotations

import torch

# Of each type the bits of NaN, and the place of the six highest bits that are spare: these stay
# when the number becomes a wider or narrower one.
NAN = {
    torch.float16: (0x7E00, 3),
    torch.bfloat16: (0x7FC0, 0),
    torch.float32: (0x7FC0_0000, 16),
    torch.float64: (0x7FF8_0000_0000_0000, 45),
}
SPARE = 0x3F
UNWRITTEN = 62  # torch's casts to bfloat16 make 63 of any number
NAMELESS = 61  # for all the loads that come after too many others
LARGEST_NUMBER = 60  # of a load

# Integers have no NaN; shorter ones have no value that is improbable enough.
_INTEGERS = {torch.int32: 0x7DEA_DBED, torch.int64: 0x7DEA_DBED_7DEA_DBED}


def numbered(dtype: torch.dtype, number: int) -> int:
    """Return the bits of a NaN with a number."""
    nan, place = NAN[dtype]
    return nan | number << place


def unwritten_bits(dtype: torch.dtype) -> int | None:
    """Return the bits of memory that nothing has written to, where they can be recognised."""
    return numbered(dtype, UNWRITTEN) if dtype in NAN else _INTEGERS.get(dtype)
