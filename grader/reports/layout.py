"""Lines for a terminal: wrapped, indented and labelled.

This module wraps, and rich does not: a command must stay in one piece, to be copied. Print these
lines with `soft_wrap=True`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from grader.model import texts

DETAIL = " " * 6  # before details of the line above
_LABEL = 10  # characters of a label such as `expected`, with the space after it
WIDEST = 100  # characters; longer lines are hard to read
MOST_LINES = 30  # of one text; a compiler can write hundreds
_NO_BREAK = "\N{NO-BREAK SPACE}"

# Replacements of the same width, for a terminal without the character.
PLAIN = str.maketrans("✔✘●○∅⊘‼–−×·…±≤≥»«┌─┬┐│╎└┴┘", "+x*o0/!--x|~~<>><+-++||+++")


def filled(text: str, width: int, indent: str = "", first: str | None = None) -> str:
    """Return the text in lines of `width`, each with a newline.

    `indent` precedes each line, except that `first` precedes the first one.
    """
    lines = wrap(text, width - len(indent))
    if len(lines) > MOST_LINES:
        left_out = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"… and {left_out} more lines; `--json` prints all of them"]
    heads = [indent if first is None else first] + [indent] * (len(lines) - 1)
    return "".join(f"{head}{line}\n" for head, line in zip(heads, lines, strict=True))


def wrap(text: str, width: int) -> list[str]:
    """Return at least one line, at most `width` wide unless a word is longer; keep line breaks.

    What follows of a line that begins with a bar does so, too.
    """
    lines = []
    for line in text.expandtabs(4).splitlines():
        # Text in backticks is a command, and a long word may be a path: both stay whole.
        # `textwrap` does not break at a no-break space.
        whole = re.sub(r"`[^`]*`", lambda command: command[0].replace(" ", _NO_BREAK), line)
        wrapped = textwrap.wrap(
            whole,
            max(width, 20),
            subsequent_indent=texts.BAR if line.startswith(texts.BAR) else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [part.replace(_NO_BREAK, " ") for part in wrapped] or [""]
    return lines or [""]


def labelled(label: str, text: str) -> str:
    return f"{DETAIL}{label:<{_LABEL}}{text}"


def row(label: str, text: str | None, width: int) -> str:
    """Return a labelled line, wrapped under its own start; nothing if there is no text."""
    if not text:
        return ""
    return filled(text, width, labelled("", ""), first=labelled(label, ""))


def once(label: str) -> Iterator[str]:
    """Yield a label for the first of several rows, and none for the others."""
    yield label
    while True:
        yield ""
