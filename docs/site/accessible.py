"""Mend finished pages where the theme and Sphinx leave keyboards and screen readers out."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

# What may be wider than the page scrolls, and only a focused part scrolls by the keyboard.
SCROLLS = re.compile(r'<pre(?=>)|<div class="table-wrapper [^"]*"')
# A signature of several lines is a list of definitions that define nothing.
PARAMETERS = re.compile(r"<dl>\n(.*?)</dl>", re.DOTALL)


def mended(body: str) -> str:
    """Return the body of a page, with its scrolling parts in reach and its lists as they are."""
    body = SCROLLS.sub(lambda part: f'{part[0]} tabindex="0"', body)
    return PARAMETERS.sub(_as_divisions, body)


def _as_divisions(parameters: re.Match[str]) -> str:
    lines = parameters[1].replace("<dd>", '<span class="parameter">').replace("</dd>", "</span>")
    return f'<span class="parameters">{lines}</span>'


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Mend one page before it is written, as Sphinx asks for."""
    context["body"] = mended(context.get("body", ""))
    contents = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = contents.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this module with Sphinx, behind the theme."""
    app.connect("html-page-context", mend, priority=900)
    return {"parallel_read_safe": True}
