"""The global loads and stores of machine code, counted by their width, and its arithmetic.

Nvdisasm takes 0.3 s to start. The instructions of the GPUs in DECODED are therefore read from the
code itself, and those of all others from nvdisasm's listing; a test compares the two.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

# LDG.E.128.CONSTANT, STG.E.U16, and the asynchronous copy LDGSTS.E.BYPASS.LTC128B.128.
_ACCESS = re.compile(
    r"^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?"
    r"(?P<operation>LDGSTS|LDG|STG)(?P<modifiers>(?:\.\w+)*)\s",
    re.MULTILINE,
)
_BITS = {"8": 8, "U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_PLAIN = 32  # bits, without a modifier

# Of compute capability 8.0 to 9.0, an instruction is 16 bytes. Its lowest 9 bits name the
# operation, whatever its operands are, and bits 73 to 75 the width: of U8, S8, U16, S16, 32 and so
# on.
DECODED = range(80, 91)
_OPERATIONS = {0x181: "LDG", 0x1AE: "LDGSTS", 0x186: "STG"}
_WIDTHS = (8, 8, 16, 16, 32, 64, 128, 32)
# Arithmetic on floating-point numbers of 32 and 64 bits, and the branches and calls that functions
# take for hard numbers. A multiply-add is one. Whole numbers, moves, selections of whole numbers,
# conversions from and to 16 bits and tensor cores are left out.
ARITHMETIC = {
    0x008: "FSEL",
    0x009: "FMNMX",
    0x00B: "FSETP",
    0x020: "FMUL",
    0x021: "FADD",
    0x023: "FFMA",
    0x028: "DMUL",
    0x029: "DADD",
    0x02A: "DSETP",
    0x02B: "DFMA",
    0x102: "FCHK",
    0x107: "FRND",
    0x045: "I2FP",
    0x105: "F2I",
    0x106: "I2F",
    0x108: "MUFU",
    0x111: "F2I",
    0x112: "I2F",
    0x141: "BSYNC",
    0x144: "CALL",
    0x145: "BSSY",
    0x147: "BRA",
    0x150: "RET",
}
# ELF (System V ABI, "Object Files"): the header's place and number of sections; of a section, its
# flags, place and size.
_HEADER, _SECTION = struct.Struct("<40xQ10xHH2x"), struct.Struct("<8xQ8xQQ24x")
_EXECUTABLE = 4  # a flag


@dataclass(frozen=True)
class Counts:
    """The number of instructions of each width, in bits a thread, and of those of ARITHMETIC.

    `arithmetic` is None where the code is not decoded.
    """

    loads: Counter[int] = field(default_factory=Counter)
    stores: Counter[int] = field(default_factory=Counter)
    arithmetic: int | None = None

    def count(self, operation: str, bits: int) -> None:
        (self.stores if operation == "STG" else self.loads)[bits] += 1


def count_instructions(cubin: Path, target: int, nvdisasm: str) -> Counts:
    """Count the instructions of a cubin for the compute capability `target`."""
    if target in DECODED:
        return decoded(cubin.read_bytes())
    listing = subprocess.run(
        [nvdisasm, "-c", "-ndf", str(cubin)], capture_output=True, text=True, check=True
    )
    return listed(listing.stdout)


def listed(listing: str) -> Counts:
    found = Counts()
    for access in _ACCESS.finditer(listing):
        bits = [_BITS[one] for one in access["modifiers"].split(".") if one in _BITS]
        found.count(access["operation"], bits[-1] if bits else _PLAIN)
    return found


def decoded(cubin: bytes) -> Counts:
    found, arithmetic = Counts(), 0
    for code in _code(cubin):
        for low, high in struct.iter_unpack("<QQ", code):
            arithmetic += (low & 0x1FF) in ARITHMETIC
            if operation := _OPERATIONS.get(low & 0x1FF):
                found.count(operation, _WIDTHS[high >> 9 & 7])
    return replace(found, arithmetic=arithmetic)


def _code(elf: bytes) -> Iterator[bytes]:
    start, size, count = _HEADER.unpack_from(elf)
    for number in range(count):
        flags, place, length = _SECTION.unpack_from(elf, start + number * size)
        if flags & _EXECUTABLE:
            yield elf[place : place + length]
