"""Draw the flowcharts of pages as SVG, where GitHub runs Mermaid: a page needs no script for it.

It reads the part of Mermaid that docs/course.md uses: `name["label"]` and `name --> name`. Boxes
stand in columns, each behind all that lead to it. The name of an exercise links to its lesson.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean

from docutils import nodes
from lessons import lesson_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BOX = re.compile(r'\s*(\w+)\["(.*)"\]')
ARROW = re.compile(r"\s*(\w+) --> (\w+)")
# In pixels: a box, from one column to the next, and a row of boxes or of passing arrows.
WIDTH, HEIGHT, COLUMN, ROW, PASSING = 168, 28, 216, 38, 14
ROUNDS = 24  # of moving boxes towards what they are joined with

Line = tuple[str, ...]  # an arrow by the names of its ends and of the bends between


@dataclass(frozen=True)
class Chart:
    """Boxes by name with their labels, and arrows from one name to another."""

    boxes: Mapping[str, str]
    arrows: Sequence[tuple[str, str]]


def parsed(lines: Sequence[str]) -> Chart:
    """Read a flowchart. Raises ValueError for a line of Mermaid that is not known here."""
    boxes: dict[str, str] = {}
    arrows: list[tuple[str, str]] = []
    for line in lines:
        if box := BOX.fullmatch(line):
            boxes[box[1]] = box[2]
        elif arrow := ARROW.fullmatch(line):
            arrows.append((arrow[1], arrow[2]))
        elif line.strip() != "flowchart LR":
            raise ValueError(f"a flowchart has a line that is not drawn: {line!r}")
    return Chart(boxes, arrows)


def depths(chart: Chart) -> dict[str, int]:
    """Return the column of each box: behind all that lead to it, and not further."""
    depth = dict.fromkeys(chart.boxes, 0)
    for _ in depth:
        for start, end in chart.arrows:
            depth[end] = max(depth[end], depth[start] + 1)
    return depth


def routed(chart: Chart, depth: Mapping[str, int]) -> list[Line]:
    """Return each arrow with a bend in each column that it passes."""
    return [
        (start, *(f"{start}>{end}>{at}" for at in range(depth[start] + 1, depth[end])), end)
        for start, end in chart.arrows
    ]


def placed(chart: Chart, depth: Mapping[str, int], lines: Sequence[Line]) -> dict[str, float]:
    """Return how far down each box and bend stands: what no arrow joins, one below the other."""
    down: dict[str, float] = {}
    for names in _joined(chart):
        parts = [line for line in lines if line[0] in names]
        below = max(down.values(), default=-ROW) + ROW
        at = _settled(_columns(names, depth, parts), parts, chart)
        top = min(at.values())
        down |= {name: y - top + below for name, y in at.items()}
    return down


def _joined(chart: Chart) -> list[list[str]]:
    group = {name: {name} for name in chart.boxes}
    for start, end in chart.arrows:
        merged = group[start] | group[end]
        group |= dict.fromkeys(merged, merged)
    return [
        [other for other in chart.boxes if other in names]
        for name, names in group.items()
        if name == next(other for other in chart.boxes if other in names)
    ]


def _columns(
    names: Sequence[str], depth: Mapping[str, int], lines: Sequence[Line]
) -> list[list[str]]:
    columns: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in names:
        columns[depth[name]].append(name)
    for line in lines:
        for at, bend in enumerate(line[1:-1], start=depth[line[0]] + 1):
            columns[at].append(bend)
    return [column for column in columns if column]


def _settled(columns: Sequence[list[str]], lines: Sequence[Line], chart: Chart) -> dict[str, float]:
    """Move boxes and bends towards what they are joined with, so that few arrows cross."""
    joined: dict[str, list[str]] = {}
    for left, right in (pair for line in lines for pair in pairwise(line)):
        joined.setdefault(left, []).append(right)
        joined.setdefault(right, []).append(left)
    down = {name: float(row * ROW) for names in columns for row, name in enumerate(names)}
    for _ in range(ROUNDS):
        for names in columns:
            wanted = {
                name: fmean(down[other] for other in joined.get(name, [name])) for name in names
            }
            names.sort(key=wanted.__getitem__)
            down |= _spread(names, wanted, chart)
    return down


def _spread(names: Sequence[str], wanted: Mapping[str, float], chart: Chart) -> dict[str, float]:
    """Keep the names in their order and apart, on average where each of them wants to be."""
    down: dict[str, float] = {}
    free = -math.inf
    for name in names:
        half = (ROW if name in chart.boxes else PASSING) / 2
        down[name] = max(wanted[name], free + half)
        free = down[name] + half
    shift = fmean(wanted.values()) - fmean(down.values())
    return {name: at + shift for name, at in down.items()}


def drawn(chart: Chart, links: Mapping[str, str]) -> str:
    """Return the chart as SVG, in the colours of the page around it."""
    depth = depths(chart)
    lines = routed(chart, depth)
    down = placed(chart, depth, lines)
    width = max(depth.values()) * COLUMN + WIDTH + 2
    height = max(down.values()) + HEIGHT + 2
    parts = [*_arrows(lines, depth, down), *_boxes(chart, depth, down, links)]
    return (
        f'<svg class="flowchart" width="{width}" height="{height:.0f}" '
        f'viewBox="-1 -1 {width} {height:.0f}" role="group" aria-label="Flowchart">'
        '<defs><marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 6 3 0 6z"/></marker></defs>'
        f"{''.join(parts)}</svg>"
    )


def _arrows(
    lines: Sequence[Line], depth: Mapping[str, int], down: Mapping[str, float]
) -> Iterator[str]:
    for line in lines:
        left = depth[line[0]] * COLUMN
        path = f"M{left + WIDTH} {down[line[0]] + HEIGHT / 2:.1f}"
        for _, name in pairwise(line):
            x, y = left + COLUMN, down[name] + HEIGHT / 2
            path += f"C{x - 20} {_y_of(path)} {left + WIDTH + 20} {y:.1f} {x} {y:.1f}"
            if name != line[-1]:
                path += f"H{x + WIDTH}"
            left = x
        yield f'<path d="{path}" marker-end="url(#head)"/>'


def _y_of(path: str) -> str:
    return re.findall(r"[\d.]+", path.rpartition("H")[0] or path)[-1]


def _boxes(
    chart: Chart, depth: Mapping[str, int], down: Mapping[str, float], links: Mapping[str, str]
) -> Iterator[str]:
    for name, label in chart.boxes.items():
        x, y = depth[name] * COLUMN, down[name]
        box = (
            f'<rect x="{x}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
            f'<text x="{x + WIDTH / 2:.0f}" y="{y + HEIGHT / 2:.1f}">{escape(label)}</text>'
        )
        yield f'<a href="{escape(links[name])}">{box}</a>' if name in links else f"<g>{box}</g>"


class Flowchart(SphinxDirective):
    """A fence of Mermaid on a page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the drawing, in a frame that scrolls where the page is narrower."""
        chart = parsed(list(self.content))
        here = "../" * self.env.docname.count("/")
        links = {name: f"{here}{page}.html" for name in chart.boxes if (page := lesson_of(name))}
        frame = '<div class="scrolls" tabindex="0" role="region" aria-label="Flowchart">'
        return [nodes.raw("", f"{frame}{drawn(chart, links)}</div>", format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this module with Sphinx."""
    app.add_directive("mermaid", Flowchart)
    return {"parallel_read_safe": True}
