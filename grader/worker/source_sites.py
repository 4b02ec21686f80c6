"""The place of an instruction in a kernel file, and the text there."""

from __future__ import annotations

import linecache
import sys
from types import CodeType, FrameType

Site = tuple[CodeType, int]  # an instruction: its code, and f_lasti
Place = tuple[object, ...]  # a file, its first line and last, the first column and behind the last


def learners_site(libraries: tuple[str, ...]) -> Site:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(libraries):
        frame = frame.f_back
    assert frame is not None, "only code outside of the libraries starts anything"
    return frame.f_code, frame.f_lasti


def line_of(site: Site) -> int:
    code, offset = site
    return next(line or 0 for start, stop, line in code.co_lines() if start <= offset < stop)


def place_of(site: Site) -> Place:
    """Return the part of the text that an instruction is written in.

    Python may compile one part twice, for example the condition of a loop. An instruction that it
    has specialised has another offset than before.
    """
    code, offset = site
    return (code.co_filename, *list(code.co_positions())[offset // 2])


def text_of(site: Site) -> str:
    """Return the source text of an instruction, in brackets; "" where it is unknown."""
    file, first, last, begin, end = place_of(site)
    lines = linecache.getlines(str(file))
    if not isinstance(first, int) or not isinstance(last, int) or not lines[first - 1 : last]:
        return ""
    text = [line.encode() for line in lines[first - 1 : last]]  # columns are counted in bytes
    assert isinstance(begin, int)
    assert isinstance(end, int)
    text[-1] = text[-1][:end]
    text[0] = text[0][begin:]
    return f"({b''.join(text).decode()})"


def quoted(site: Site) -> str:
    """Quote the line of an instruction: `line 12 (tile[t] = x[i])`."""
    line = line_of(site)
    text = linecache.getline(site[0].co_filename, line).strip()
    return f"line {line} ({text})" if text else f"line {line}"
