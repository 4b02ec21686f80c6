"""The likely cause of a wrong output, where a simulated device saw undefined values reach it.

An undefined value fails nothing by itself: a kernel may read whole blocks and drop what it does not
need. With an output that is wrong, it is the first thing to look at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from grader.correctness.mismatch import Mismatch
from grader.model import Origin, printable

# Of each way to combine values, the value that changes nothing.
NEUTRAL = {"sum": "0.0", "product": "1.0", "maximum": 'float("-inf")', "minimum": 'float("inf")'}


def name_origin(
    origins: Sequence[Origin], source: Sequence[str], mismatch: Mismatch | None = None
) -> str | None:
    """Name the line that read an undefined value, and say how to define it.

    `source` is the kernel file, line by line. Without a mismatch the call failed at an address.
    Return None where no origin fits: a value that was followed to an output makes that NaN.
    """
    for origin in origins:
        if not origin.output or (mismatch is not None and _is_nan(mismatch, origin.output)):
            return explain_origin(origin, source)[0]
    return None


def explain_origin(origin: Origin, source: Sequence[str]) -> tuple[str, int]:
    """Return the sentences about an undefined value, and the line that read it (0: not known)."""
    line = origin.line if 0 < origin.line <= len(source) else 0
    return (_unwritten if origin.array else _masked)(origin, source), line


def reaches(output: Tensor, wrong: Tensor) -> bool:
    """Say whether any wrong element is NaN, as an undefined value would make it."""
    return output.is_floating_point() and bool(output.isnan()[wrong].any())


def _is_nan(mismatch: Mismatch, output: str) -> bool:
    written = mismatch.kind != "never_written"
    return written and mismatch.argument == output and math.isnan(mismatch.got)


def _masked(origin: Origin, source: Sequence[str]) -> str:
    lanes = f"lanes of {origin.name}" if origin.name else "lanes"
    place = _place(origin.line, source)
    if not origin.combined or not 0 < origin.joined <= len(source):
        return (
            f"{place} masks off {lanes}, and their undefined values reached {origin.output}. Give "
            'that load `other=...`: 0 for a sum, float("-inf") for a maximum.'
        )
    value, why = NEUTRAL[origin.combined], f"which changes no {origin.combined}"
    between = source[min(origin.line, origin.joined) - 1 : max(origin.line, origin.joined)]
    if origin.combined == "sum" and any("exp(" in text or "exp2(" in text for text in between):
        value, why = NEUTRAL["maximum"], "whose exponential adds 0"
    return (
        f"{place} masks off {lanes}, and their undefined values entered the {origin.combined} at "
        f"line {origin.joined} ({printable(source[origin.joined - 1].strip())}). Give that load "
        f"`other={value}`, {why}."
    )


def _unwritten(origin: Origin, source: Sequence[str]) -> str:
    carried = ""
    if origin.output:
        carried = f", and {origin.name or 'its value'} reached {origin.output}"
    return (
        f"{_place(origin.line, source)} reads element {origin.element} of {origin.array}, which "
        f"nothing had written{carried}. Make that memory with torch.zeros, or write to it first."
    )


def _place(line: int, source: Sequence[str]) -> str:
    if 0 < line <= len(source):
        return f"Line {line} ({printable(source[line - 1].strip())})"
    return "The kernel"
