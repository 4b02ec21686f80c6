"""A model solution as text for a terminal: its commentary, then its source."""

from __future__ import annotations

from markdown_it import MarkdownIt
from rich.syntax import Syntax
from rich.text import Text

from grader.classroom import Shown
from grader.model import texts
from grader.reports.layout import WIDEST, filled

KERNEL = "kernel.py"


def solution(shown: Shown, width: int = WIDEST) -> Text:
    """Return the page of `grader solution`, without characters that control a terminal."""
    page = Text()
    page.append(_clean(shown.name), style="bold")
    which = "the model solution" if shown.file == KERNEL else f"the solution {_clean(shown.file)}"
    page.append(f"   {_clean(shown.title)}: {which}\n")
    if shown.commentary:
        page.append("\n")
        page.append_text(_commentary(_clean(shown.commentary), min(width, WIDEST)))
    page.append("\n")
    # A theme of the terminal's own colours suits a light and a dark background.
    source = Syntax("", "python", theme="ansi_dark").highlight(_clean(shown.source))
    page.append_text(source)
    if shown.others:
        more = " and ".join(f"`--file {_clean(file)}`" for file in shown.others)
        page.append(filled(f"There are others beside it: {more}.", min(width, WIDEST)))
    return page


def _clean(text: str) -> str:
    return texts.visible(text.replace("\r\n", "\n"))


def _commentary(text: str, width: int) -> Text:
    """Render Markdown in wrapped lines: bold headings, code as it is, signs of emphasis kept."""
    page = Text()
    heading, marker = False, ""
    markers: list[str] = []  # of the lists that a line is in
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        indent = "   " * len(markers)
        match token.type:
            case "heading_open" | "heading_close":
                heading = token.type == "heading_open"
            case "bullet_list_open":
                markers.append("-")
            case "ordered_list_open":
                markers.append("#")
            case "bullet_list_close" | "ordered_list_close":
                markers.pop()
                page.append("\n" if not markers else "")
            case "list_item_open":
                marker = f"{token.info}." if markers[-1] == "#" else "-"
            case "fence" | "code_block":
                lines = token.content.rstrip("\n").split("\n")
                page.append("".join(f"{indent}    {line}".rstrip() + "\n" for line in lines))
                page.append("\n")
            case "inline":
                words = " ".join(token.content.split())
                first = f"{indent[:-3]}{marker:<3}" if marker else None
                page.append(filled(words, width, indent, first), style="bold" if heading else "")
                marker = ""
                page.append("" if markers else "\n")
    return page
