"""The text of a page, for tests that compare what it shows."""

from __future__ import annotations

import html
import re


def text(page: str) -> str:
    """Return what a page shows, a line for each text, with the words of its pictures."""
    body = page[page.index("<body>") :]
    body = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"[\1]", body)
    lines = (line.strip() for line in re.sub(r"<[^>]*>", "\n", body).splitlines())
    return html.unescape("\n".join(filter(None, lines))) + "\n"
