"""Text of any origin, made safe to show on terminals, in logs and in markup.

`visible` decides which characters are shown; everything else here builds on it.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_TEXT = 4000  # characters of any one text that a worker sends
BAR = "| "  # before lines that a learner's code wrote
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Spreadsheets take these for the start of a formula: narrow forms, then wide ones.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# A line that begins with `::` is a command to GitHub's runner, blanks before it or not; so is
# `##[` anywhere in a line, and `##vso[` and `##teamcity[` to others.
_COMMAND = re.compile(r"^((?:\s|\x1b\[[\d;]*m)*):(?=:)", re.MULTILINE)
_BRACKET = re.compile(r"#(?=#\w*\[)")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#~|&$])")
_CODE = re.compile(r"(`[^`]+`)")
_LIST_ITEM = re.compile(r"^(\d*)([-+.)])(?=\s|$)")


def visible(text: str, hidden: str = REPLACEMENT) -> str:
    """Put `hidden` in place of each character that shows nothing and may do harm.

    These are control characters, which a terminal obeys; format characters, some of which reverse
    the direction of a line; halves of surrogate pairs; line separators; and characters that Unicode
    has not assigned. They include all that XML 1.0 cannot hold. New lines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _is_visible(c) else hidden for c in text)


def _is_visible(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def printable(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return the visible form of the first `limit` characters, and mark a text that was cut."""
    return visible(text[:limit]) + ("" if len(text) <= limit else " … (cut)")


def printable_line(text: str, limit: int = LONGEST_TEXT) -> str:
    return printable(text, limit).replace("\n", " ")


def barred(text: str) -> str:
    """Put a bar before each line but the first, so that none can pass for a line of a report."""
    return text.replace("\n", f"\n{BAR}")


def lines(text: str) -> str:
    """Return the visible form: each line ends with a line feed, and each tab is a blank."""
    return visible(re.sub(r"\r\n?", "\n", text)).replace("\t", " ")


def one_line(text: str, most: int = 300) -> str:
    return cut(" ".join(lines(text[: 8 * most]).split()), most)


def clean_line(text: str, most: int = 200) -> str:
    """Return one line without hidden characters, composed (NFC)."""
    text = unicodedata.normalize("NFC", text[:most])
    return " ".join(visible(" ".join(text.split()), hidden="").split())


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(text: str, most: int = 60) -> str:
    """Return the text as a message names it: as it is, or escaped like a Python string."""
    short = text if len(text) <= most else text[:most] + "…"
    return short if short and short.isprintable() else repr(short)


def without_commands(text: str) -> str:
    """Change each line that the reader of a job's log would take for a command."""
    return _BRACKET.sub("# ", _COMMAND.sub(r"\1: ", text))


def json_without_commands(text: str) -> str:
    """Escape JSON such that no line of it is a command when it is printed.

    No line of JSON begins with `::`, and `#` occurs in strings alone.
    """
    return _BRACKET.sub(r"\\u0023", text)


def xml_without_commands(text: str) -> str:
    return _BRACKET.sub("&#35;", _COMMAND.sub(r"\1&#58;", text))


def cell(text: str, most: int = 300) -> str:
    text = one_line(text, most)
    return f"'{text}" if text.startswith(_FORMULA) else text


def markdown(text: str, code: bool = False) -> str:
    """Escape a paragraph such that Markdown reads it as plain text, on one line.

    With `code`, what lies between backticks is code.
    """
    line = " ".join(lines(text).split())
    parts = _CODE.split(line) if code else [line]
    escaped = (part if n % 2 else _MARKDOWN.sub(r"\\\1", part) for n, part in enumerate(parts))
    return _LIST_ITEM.sub(r"\1\\\2", "".join(escaped))


def entities(text: str, most: int = 100) -> str:
    """Escape one line such that neither Markdown nor HTML nor GitHub's links change any of it."""
    return "".join(
        character if character.isalnum() or character in " -,()" else f"&#{ord(character)};"
        for character in one_line(text, most)
    )
