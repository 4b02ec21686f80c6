"""Values as the pages of a board show them: states in words, figures, times."""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache

from markupsafe import Markup, escape

from grader.classroom import Board, State
from grader.model import utc
from grader.reports import board_plots as plots
from grader.reports.webpage import Filters

WORDS = {
    State.RANKED: "ranked",
    State.SOLVED: "solved",
    State.UNVERIFIED: "unverified",
    State.NOT_TIMED: "not timed",
    State.FAILED: "not passed",
    State.NOISY: "noisy",
    State.IMPOSSIBLE: "impossible",
    State.INVALIDATED: "invalidated",
    State.BASELINE: "baseline",
}
# The reason why a row does not rank, if it has no note.
MEANINGS = {
    State.SOLVED: "right; its speed is not graded",
    State.UNVERIFIED: "not measured by a run that the course trusts",
    State.NOT_TIMED: "right, on a machine without a GPU",
    State.FAILED: "wrong, or not finished",
    State.NOISY: "other work on the machine made the times unreliable",
    State.IMPOSSIBLE: "faster than the GPU can move its bytes",
    State.INVALIDATED: "invalidated by a teacher",
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LONGEST_NAME = 64  # characters; the rest of a nickname is cut off


escaped = lru_cache(maxsize=1024)(escape)  # many rows have the same few sentences


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def span(low: float | None, high: float | None) -> str:
    """Write an interval in percent: `91.2–93.0`."""
    return "" if low is None or high is None or low == high else f"{low * 100:.1f}–{high * 100:.1f}"


def _whole(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}"


def _digits(figure: float | None) -> str:
    if figure is None:
        return "–"
    before = math.floor(math.log10(figure)) if figure > 0 else 0
    return f"{figure:,.{min(max(2 - before, 0), 6)}f}"


def key(figure: float) -> str:
    """Write a figure to sort by, with six significant digits."""
    return f"{figure:.6g}"


def _figure(share: float | None, board: Board, label: str) -> Markup:
    """Make the cell of one exercise in the overall board; narrow screens show `label`."""
    if share is None:
        return Markup(f'<td class="f" data-n="{escape(label)}">–</td>')
    level = " great" if share >= board.great else " passing" if share >= board.passing else ""
    return Markup(
        f'<td class="f{level}" data-n="{escape(label)}" data-v="{share:.4g}">{share * 100:.0f}</td>'
    )


def model(gpu: str) -> str:
    return gpu.removeprefix("NVIDIA ")


def moment_of(text: str) -> datetime | None:
    """Parse a time, which is UTC without a zone; return None for a text that is not a time."""
    try:
        return utc(text)
    except ValueError:
        return None


def _minute(text: str) -> str:
    """Write `21 Nov 2026, 15:04`; keep a text that is not a time."""
    moment = moment_of(text)
    return text if moment is None else to_the_minute(moment)


def _day(text: str) -> str:
    moment = moment_of(text)
    return text if moment is None else to_the_day(moment)


def _seconds_since_1970(text: str) -> int | None:
    moment = moment_of(text)
    return None if moment is None else since_1970(moment)


def to_the_minute(moment: datetime) -> str:
    return f"{to_the_day(moment)}, {moment.hour:02}:{moment.minute:02}"


def to_the_day(moment: datetime) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def since_1970(moment: datetime) -> int:
    return int(moment.timestamp())


FILTERS: Filters = {
    "short": _short,
    "percent": plots.percent,
    "gate": plots.gate,
    "span": span,
    "whole": _whole,
    "digits": _digits,
    "key": key,
    "figure": _figure,
    "model": model,
    "minute": _minute,
    "day": _day,
    "seconds": _seconds_since_1970,
    "bar": plots.bar,
    "level": plots.level,
    "strip": plots.strip,
}
