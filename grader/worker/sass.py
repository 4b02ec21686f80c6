"""The global loads and stores of machine code, counted by their width in nvdisasm's listing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

# LDG.E.128.CONSTANT, STG.E.U16, and the asynchronous copy LDGSTS.E.BYPASS.LTC128B.128.
_ACCESS = re.compile(
    r"^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?"
    r"(?P<operation>LDGSTS|LDG|STG)(?P<modifiers>(?:\.\w+)*)\s",
    re.MULTILINE,
)
_BITS = {"8": 8, "U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_PLAIN = 32  # bits, without a modifier


@dataclass(frozen=True)
class Widths:
    """The number of instructions of each width, in bits a thread."""

    loads: Counter[int] = field(default_factory=Counter)
    stores: Counter[int] = field(default_factory=Counter)


def widths(listing: str) -> Widths:
    found = Widths()
    for access in _ACCESS.finditer(listing):
        bits = [_BITS[one] for one in access["modifiers"].split(".") if one in _BITS]
        kind = found.stores if access["operation"] == "STG" else found.loads
        kind[bits[-1] if bits else _PLAIN] += 1
    return found
