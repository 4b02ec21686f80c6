"""The likely cause of a wrong output, where a simulated device saw undefined values reach it.

An undefined value fails nothing by itself: a kernel may read whole blocks and drop what it does not
need. With an output that is wrong, it is the first thing to look at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.correctness.mismatch import Mismatch
from grader.model import Origin, printable


def name_origin(
    origins: Sequence[Origin], source: Sequence[str], mismatch: Mismatch | None = None
) -> str | None:
    """Name the line that read an undefined value, and say how to define it.

    `source` is the kernel file, line by line. Without a mismatch the call failed at an address.
    Return None where no origin fits: a value that was followed to an output makes that NaN.
    """
    for origin in origins:
        if not origin.output or (mismatch is not None and _is_nan(mismatch, origin.output)):
            return _unwritten(origin, source) if origin.array else _masked(origin, source)
    return None


def _is_nan(mismatch: Mismatch, output: str) -> bool:
    written = mismatch.kind != "never_written"
    return written and mismatch.argument == output and math.isnan(mismatch.got)


def _masked(origin: Origin, source: Sequence[str]) -> str:
    lanes = f"lanes of {origin.name}" if origin.name else "lanes"
    return (
        f"{_place(origin, source)} masks off {lanes}, and their undefined values reached "
        f'{origin.output}. Give that load `other=...`: 0 for a sum, float("-inf") for a maximum.'
    )


def _unwritten(origin: Origin, source: Sequence[str]) -> str:
    carried = ""
    if origin.output:
        carried = f", and {origin.name or 'its value'} reached {origin.output}"
    return (
        f"{_place(origin, source)} reads element {origin.element} of {origin.array}, which nothing "
        f"had written{carried}. Make that memory with torch.zeros, or write to it first."
    )


def _place(origin: Origin, source: Sequence[str]) -> str:
    if 0 < origin.line <= len(source):
        return f"Line {origin.line} ({printable(source[origin.line - 1].strip())})"
    return "The kernel"
