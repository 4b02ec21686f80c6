"""Texts that a learner may have had a hand in, made fit for logs, tables and markup."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Control characters, halves of surrogate pairs, and the separators that some readers end a line at.
# Format characters among which are those that turn the direction of text around.
_UNWANTED = ("Cc", "Cs", "Cf", "Zl", "Zp", "Co", "Cn")
# What spreadsheets take for the start of a formula, in their narrow and their wide forms.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# A line that begins with `::` is a command to GitHub's runner, blanks before it or not; so is
# `##[` anywhere in a line, and `##vso[` and `##teamcity[` to others.
_COMMAND = re.compile(r"^((?:\s|\x1b\[[\d;]*m)*):(?=:)", re.MULTILINE)
_BRACKET = re.compile(r"#(?=#\w*\[)")


def lines(text: str) -> str:
    """The text without what can do harm in a log or in XML; its lines end with `\\n`."""
    text = re.sub(r"\r\n?", "\n", text)
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in _UNWANTED
        else (" " if character == "\t" else REPLACEMENT)
        for character in text
    )


def one_line(text: str, most: int = 300) -> str:
    """The text on one line of at most `most` characters."""
    return cut(" ".join(lines(text[: 8 * most]).split()), most)


def cut(text: str, most: int) -> str:
    """At most so many characters; the last one of a text that was longer is an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def harmless(text: str) -> str:
    """The text such that no line of it is a command to whatever reads the log of a job."""
    return _BRACKET.sub("# ", _COMMAND.sub(r"\1: ", text))


def harmless_json(text: str) -> str:
    """JSON that reads as before, and of which no line is a command when it is printed.

    No line of JSON begins with `::`, and `#` stands in strings alone.
    """
    return _BRACKET.sub(r"\\u0023", text)


def harmless_xml(text: str) -> str:
    """XML that reads as before, and of which no line is a command when it is printed."""
    return _BRACKET.sub("&#35;", _COMMAND.sub(r"\1&#58;", text))


def cell(text: str, most: int = 300) -> str:
    """A cell of a table that no spreadsheet takes for a formula."""
    text = one_line(text, most)
    return f"'{text}" if text.startswith(_FORMULA) else text
