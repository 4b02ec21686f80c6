"""Hostile text comes out fit for terminals, logs and markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import texts
from grader.model.texts import printable

ANY = st.text(st.characters(codec=None), max_size=60)  # halves of characters, too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("zwölf × 日本", "zwölf × 日本"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd"),
        ("back\bspace\r", "back\ufffdspace\ufffd"),
        ("\x9b31m", "\ufffd31m"),  # one character that some terminals take for ESC [
        ("right\u202eto left", "right\ufffdto left"),
        ("half a \ud83d pair", "half a \ufffd pair"),
        ("", ""),
    ],
)
def test_control_characters_are_not_shown(text: str, shown: str):
    assert printable(text) == shown


def test_a_long_text_is_cut():
    assert printable("abcdef", limit=6) == "abcdef"
    assert printable("abcdefg", limit=6) == "abcdef … (cut)"


@given(st.text())
def test_every_text_comes_out_printable_and_encodable(text: str):
    shown = printable(text)
    assert all(c.isprintable() or c.isspace() or c == "\ufffd" for c in shown)
    shown.encode()


@given(st.text())
def test_a_printable_line_is_one_line(text: str):
    assert len(texts.printable_line(text).splitlines()) <= 1


def test_a_bar_is_before_each_line_but_the_first():
    assert texts.barred("one") == "one"
    assert texts.barred("one\n\nthree") == "one\n| \n| three"


# What XML 1.0 calls a character: https://www.w3.org/TR/xml/#charsets
XML = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


@given(ANY)
def test_visible_text_is_valid_xml_and_controls_no_terminal(text: str):
    shown = texts.visible(text)
    assert len(shown) == len(text)
    assert XML.fullmatch(shown)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", shown
    )


@given(ANY)
def test_one_line_is_one(text: str):
    for line in (texts.one_line(text, 20), texts.clean_line(text, 20)):
        assert len(line) <= 20
        assert len(line.splitlines()) <= 1
        assert line == line.strip()


def test_hidden_characters_leave_no_trace_in_a_clean_line():
    assert texts.clean_line(" a\n\tb\u202ec\x07\u200d  d ") == "a bc d"
    assert len(texts.clean_line("x" * 10_000)) == 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "plain"), ("", "''"), ("a\nb", r"'a\nb'"), ("x" * 61, "x" * 60 + "…")],
)
def test_a_message_quotes_a_text(text: str, shown: str):
    assert texts.quoted(text) == shown


def test_markdown_leaves_code_where_that_is_wanted():
    assert texts.markdown("2. *x*\n`*y*`") == r"2\. \*x\* \`\*y\*\`"
    assert texts.markdown("2. *x*\n`*y*`", code=True) == r"2\. \*x\* `*y*`"
