"""Text for a terminal as HTML: its colours become classes of a page's style."""

from __future__ import annotations

from markupsafe import Markup
from rich.console import Console
from rich.style import Style
from rich.text import Text

_COLOURS = {"red": "bad", "green": "good", "yellow": "warn", "magenta": "warn", "cyan": "name"}


def html_of(text: Text) -> Markup:
    """Return the text for a `pre`, escaped, with a span around each part that has a style."""
    console = Console(width=10_000, no_color=False, force_terminal=True, color_system="standard")
    parts = []
    for segment in text.render(console):
        classes = _classes(segment.style)
        inside = Markup.escape(segment.text)
        parts.append(Markup('<span class="{}">{}</span>').format(classes, inside))
        if not classes:
            parts[-1] = inside
    return Markup("").join(parts)


def _classes(style: Style | None) -> str:
    if style is None:
        return ""
    colour = _COLOURS.get(style.color.name, "") if style.color else ""
    names = (colour, "strong" if style.bold else "", "faint" if style.dim else "")
    return " ".join(filter(None, names))
