"""Small pictures for pages: SVG in which text is text.

Each follows the reader's light or dark colours by itself, also where a page only links to it, and
comes with a sentence that says the same.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib
from markupsafe import escape
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 4.3  # inches, so that text stays readable at the width of a phone
ROW = 0.46  # inches for each bar
# Colours, and the replacement of each on a dark page: blue and vermilion of Okabe and Ito, which
# people with any colour vision can distinguish, made lighter or darker for contrast.
PAPER, INK, SOFT, LINE = "#ffffff", "#1b1f24", "#555d68", "#d5d9df"
BLUE, ORANGE, TRACK = "#0072b2", "#b34700", "#e9ecf0"
DARK = {
    PAPER: "#1d2127",
    INK: "#eceff3",
    SOFT: "#a9b2be",
    LINE: "#3a414b",
    BLUE: "#56b4e9",
    ORANGE: "#ff9a5c",
    TRACK: "#2b313a",
}


@dataclass(frozen=True)
class Plot:
    """A picture: the SVG, and in `alt` a description for those who cannot see it."""

    name: str
    title: str
    svg: str
    alt: str

    @property
    def source(self) -> str:
        """The picture as the address of an image within a page."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def drawn(rows: int) -> tuple[Figure, Axes]:
    """Return a figure that is so many rows high, to draw on."""
    figure, (axes,) = _figure(rows, 1)
    return figure, axes


def halves(rows: int) -> tuple[Figure, Axes, Axes]:
    """Return a figure that is so many rows high, with two halves of one vertical scale."""
    figure, (left, right) = _figure(rows, 2)
    return figure, left, right


def _figure(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    with matplotlib.rc_context({"font.family": "sans-serif", "font.size": 10.5}):
        figure = Figure(figsize=(WIDTH, 0.75 + ROW * rows), layout="constrained", facecolor=PAPER)
        found = list(figure.subplots(1, columns, sharey=True, squeeze=False)[0])
    for axes in found:
        axes.set_facecolor(PAPER)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(LINE)
        axes.tick_params(colors=SOFT, length=3)
        axes.xaxis.label.set_color(SOFT)
    return figure, found


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Write names beside the bars, the first one on top; `$` begins no formula here."""
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(labels) - 0.45, -0.55)


def finished(name: str, title: str, figure: Figure, alt: str) -> Plot:
    """Return the figure as a picture, with a sentence `alt` that says the same."""
    written = io.StringIO()
    # Without dates and random names the same result makes the same file.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}),
        warnings.catch_warnings(),
    ):
        # The reader's browser has its own fonts; those here only give the width of a text.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(
            written,
            format="svg",
            facecolor=PAPER,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return Plot(name, title, _themed(written.getvalue(), alt), alt)


def _themed(svg: str, alt: str) -> str:
    """Return the picture with its words, and with colours that a dark page replaces."""
    body = svg[svg.index("<svg") :]
    names = {colour: f"--c{number}" for number, colour in enumerate(DARK)}
    body = re.sub(
        "|".join(DARK), lambda found: f"var({names[found[0].lower()]})", body, flags=re.IGNORECASE
    )
    light = "".join(f"{names[colour]}:{colour};" for colour in DARK)
    dark = "".join(f"{names[colour]}:{instead};" for colour, instead in DARK.items())
    head = (
        f"<title>{escape(alt)}</title>\n<style>svg{{{light}}}\n"
        f"@media (prefers-color-scheme: dark){{svg{{{dark}}}}}</style>"
    )
    start = body.index(">") + 1
    opening = body[: start - 1] + ' role="img">'
    return f"{opening}\n{head}{body[start:]}"
