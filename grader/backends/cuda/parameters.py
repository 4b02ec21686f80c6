"""A kernel's parameters, as its machine code has them, and the arguments of a launch.

CUDA copies as many bytes as each parameter has from wherever an argument stands. Without these
checks a float of 64 bits for a parameter of 32 becomes another number, and a missing argument a
crash.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grader.backends.cuda.refusals import LaunchRefused

# ELF (System V ABI, "Object Files"): the place of the sections, their size, their number, and the
# one that holds their names; of a section, the place of its name, and its own place and size.
_HEADER, _SECTION = struct.Struct("<40xQ10xHHH"), struct.Struct("<I20xQQ24x")
# An attribute of a kernel in the section `.nv.info.KERNEL`, and that of a parameter: its number,
# and its size in the highest 14 bits.
_ATTRIBUTE, _PARAMETER = struct.Struct("<BBH"), struct.Struct("<4xH2xI")
_HAS_DATA, _OF_PARAMETER = 4, 0x17


def sizes_of(cubin: bytes, symbol: str) -> tuple[int, ...] | None:
    """Return the bytes of each parameter of a kernel; None if the code has no such kernel."""
    sections = dict(_sections(cubin))
    if f".text.{symbol}" not in sections:
        return None
    return tuple(size for _, size in sorted(_parameters(sections.get(f".nv.info.{symbol}", b""))))


def _sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    start, size, count, names = _HEADER.unpack_from(elf)
    found = [_SECTION.unpack_from(elf, start + number * size) for number in range(count)]
    texts = found[names][1]
    for name, place, length in found:
        begin = texts + name
        text = elf[begin : elf.index(b"\0", begin)].decode(errors="replace")
        yield text, elf[place : place + length]


def _parameters(attributes: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(attributes):
        form, attribute, length = _ATTRIBUTE.unpack_from(attributes, at)
        at += _ATTRIBUTE.size
        if form == _HAS_DATA:
            if attribute == _OF_PARAMETER:
                number, flags = _PARAMETER.unpack_from(attributes, at)
                yield number, flags >> 18
            at += length


def check(kernel: str, sizes: Sequence[int], arguments: Sequence[Any]) -> None:
    """Raise LaunchRefused for arguments that the kernel would read as something else."""
    given, needed = len(arguments), len(sizes)
    if given < needed:
        raise LaunchRefused(f"the launch passes {given} of the {needed} arguments of {kernel}")
    if given > needed:
        raise LaunchRefused(f"the launch passes {given} arguments to {kernel}, which has {needed}")
    for number, (size, argument) in enumerate(zip(sizes, arguments, strict=True), start=1):
        own = _size(argument)
        if own is not None and own != size and (_is_float(argument) or own < size):
            raise LaunchRefused(
                f"argument {number} of {kernel} is {type(argument).__name__} of {8 * own} bits, "
                f"and the parameter has {8 * size}"
            )


def check_shared(asked: int, allowed: int) -> None:
    """Raise LaunchRefused for a launch with more dynamic shared memory, in bytes, than allowed."""
    if asked < 0:
        raise LaunchRefused(f"the launch asks for {asked:,} bytes of shared memory")
    if asked > allowed:
        raise LaunchRefused(
            f"the launch asks for {asked:,} bytes of shared memory, and the kernel may have "
            f"{allowed:,}: driver.cuKernelSetAttribute allows more"
        )


def _size(argument: Any) -> int | None:
    if isinstance(argument, bool):
        return 1
    if isinstance(argument, int | float):
        return 8
    if isinstance(argument, np.generic):
        return argument.itemsize
    return ctypes.sizeof(argument) if isinstance(argument, ctypes._SimpleCData) else None


def _is_float(argument: Any) -> bool:
    return isinstance(argument, float | np.floating | ctypes.c_float | ctypes.c_double)
