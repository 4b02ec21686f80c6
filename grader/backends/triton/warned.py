"""Triton's warnings about a kernel: one short line for each place, with what to write instead."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import TextIO

from grader.backends.triton.hints import WARNINGS

_shown: set[str] = set()


def install() -> None:
    """Print the warnings that WARNINGS has words for in those, and all others as before."""
    before = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        instead = next((text for part, text in WARNINGS.items() if part in str(message)), None)
        if instead is None:
            before(message, category, filename, lineno, file, line)
            return
        said = f"line {_line(sys._getframe(1)) or lineno}: {instead}"
        if said not in _shown:
            _shown.add(said)
            print(said, file=sys.stderr)

    warnings.showwarning = show


def _line(frame: FrameType | None) -> int | None:
    """Return the line of the file that Triton is compiling, from its innermost visit."""
    while frame is not None:
        begin = getattr(frame.f_locals.get("self"), "begin_line", None)
        line = getattr(frame.f_locals.get("node"), "lineno", None)
        if isinstance(begin, int) and isinstance(line, int):
            return begin + line
        frame = frame.f_back
    return None
