"""The pictures of a leaderboard, as SVG inside the page.

Lengths across are percentages and lengths down are pixels: a picture takes the width of the page
while its text keeps its size. Colours come from the page's style, by class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from grader.classroom import Board, Row, State, Tried

MARKS = ("diamond", "triangle", "square", "plus")  # of baselines, in turn; board.html draws them
LINE = 13  # pixels between two lines of text
UNDER = 12  # pixels from a line down to the foot of a text that does not touch it
POINT_BINS = 20  # of the histogram of points
REACH = 1.04  # larger shares are drawn at this edge
BIN = 0.02  # of the small histograms, in shares
WITHOUT_SHARE = 16  # pixels below the axis of an attempt's plot
# Full: it counts. Hollow: it is right and does not count. A cross: all others.
MARK_OF = dict.fromkeys(State, "cross")
MARK_OF |= dict.fromkeys((State.RANKED, State.SOLVED), "full")
MARK_OF |= dict.fromkeys((State.UNVERIFIED, State.NOT_TIMED), "hollow")


@dataclass(frozen=True)
class Scale:
    """From shares to pixels: `low` lies at `bottom`, `high` at `top`."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, share: float) -> float:
        within = min(max(share, self.low), self.high)
        part = (within - self.low) / (self.high - self.low)
        return round(self.bottom - part * (self.bottom - self.top), 1)


def percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def gate(share: float) -> str:
    return f"{share * 100:.3g}%"


def certain(row: Row) -> float:
    """Return the share that a row counts with, the lower end of its interval; 0 without one."""
    return row.share_low if row.share_low is not None else row.share or 0.0


# -- the class against the limit of the hardware


def class_plot(board: Board) -> Markup:
    """Draw every ranked share, the lowest first, with its interval above it, then the baselines.

    Return nothing if there is neither. A student's point is a group with `data-row`, the number of
    the row among the ranked ones.
    """
    ranked = [(number, row) for number, row in enumerate(board.rows) if row.rank is not None]
    students = sorted(
        ((number, row) for number, row in ranked if row.share is not None),
        key=lambda each: certain(each[1]),
    )
    limits = baselines(board)
    every = [row for _, row in students] + limits
    if not every:
        return Markup()
    scale = Scale(
        low=_floor([board.passing, *(certain(row) for row in every)]),
        high=max(REACH, *(_high(row) for row in every)),
        top=22,
        bottom=380,
    )
    parts = [_ruler(scale, board.passing, board.great, "hardware limit")]
    radius = 3 if len(students) <= 60 else 1.8 if len(students) <= 200 else 1.1
    crowd = "few" if len(students) <= 60 else "some" if len(students) <= 200 else "many"
    for place, (number, row) in enumerate(students):
        x = f"{14 + 64 * (place + 0.5) / len(students):.2f}%"
        parts.append(
            f'<g data-row="{number}"><line x1="{x}" x2="{x}" y1="{scale.y(_high(row))}"'
            f' y2="{scale.y(certain(row))}"/>'
            f'<circle cx="{x}" cy="{scale.y(certain(row))}" r="{radius}"/></g>'
        )
    if not students:
        parts.append('<text class="empty" x="46%" y="200">nobody is ranked yet</text>')
    parts += _limits(board, limits, scale)
    words = "students, lowest to highest"
    parts.append(f'<text class="axis" x="46%" y="{scale.bottom + 20}">{words}</text>')
    return _svg(f"class {crowd}", 408, class_description(board), parts)


def _limits(board: Board, limits: Sequence[Row], scale: Scale) -> Iterator[str]:
    if limits:
        yield f'<line class="wall" x1="82%" x2="82%" y1="22" y2="{scale.bottom}"/>'
        yield f'<text class="axis" x="91%" y="{scale.bottom + 20}">baselines</text>'
    for lane, (mark, row) in enumerate(zip(_marks(len(limits)), limits, strict=True)):
        x = f"{83 + 15 * (lane + 0.5) / len(limits):.2f}%"
        if certain(row) < _high(row):  # of several GPUs
            ends = f'y1="{scale.y(_high(row))}" y2="{scale.y(certain(row))}"'
            yield f'<line class="reach" x1="{x}" x2="{x}" {ends}/>'
        yield (
            f'<use class="baseline" data-gpu="{board.gpus.index(row.gpu) if row.gpu else ""}"'
            f' href="#{mark}" x="{x}" y="{scale.y(row.share or 0.0)}"/>'
        )


def class_description(board: Board) -> str:
    shares = ranked_shares(board)
    if not shares:
        return "Nobody is ranked yet; the plot shows the baselines of the table."
    middle = shares[len(shares) // 2]
    passed = sum((row.share or 0.0) >= board.passing for row in board.rows if row.rank is not None)
    return (
        f"Shares of {len(shares)} ranked {'student' if len(shares) == 1 else 'students'}, "
        f"from {percent(shares[0])} to {percent(shares[-1])} of the ceiling; the middle one has "
        f"{percent(middle)}, and {passed} reach the gate for passing, {gate(board.passing)}. "
        "The table has every figure."
    )


def ranked_shares(board: Board) -> list[float]:
    """Return the shares of ranked students, in rising order."""
    return sorted(map(certain, (row for row in board.rows if row.rank is not None)))


def baselines(board: Board) -> list[Row]:
    """Return the baselines, without the limit of the hardware: that is a line, at 100%."""
    rows = (row for row in board.rows if row.state is State.BASELINE)
    return [row for row in rows if row.share not in (None, 1.0)]


def legend(board: Board) -> list[tuple[str, str]]:
    rows = baselines(board)
    return list(zip(_marks(len(rows)), (row.who for row in rows), strict=True))


def _marks(count: int) -> list[str]:
    return [MARKS[number % len(MARKS)] for number in range(count)]


def _floor(shares: Iterable[float]) -> float:
    """Return the start of a scale: the tenth below the least share, and not below 0."""
    return max(math.floor(min(shares) * 10) / 10, 0.0)


@lru_cache(maxsize=256)  # the plots of all students share a few
def _ruler(scale: Scale, passing: float, great: float, limit: str) -> str:
    """Draw grid lines, the two gates and the limit, with their names at the left."""
    named = [(1.0, "limit", limit)]
    named += [(great, "great", "great")] if great != passing else []
    named += [(passing, "passing", "passing" if great != passing else "passing and great")]
    step = 0.1 if scale.high - scale.low <= 0.55 else 0.2
    ticks = (round(number * step, 1) for number in range(int(1 / step) + 1))
    free = [
        (tick, "tick", "")
        for tick in ticks
        if tick >= scale.low and all(abs(tick - share) >= step / 2.5 for share, _, _ in named)
    ]
    lowest, above, parts = -math.inf, -math.inf, []
    for share, kind, name in sorted(named + free, reverse=True):
        y = scale.y(share)
        parts.append(f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
        # Over its own line; if the line above is too near, right under that line.
        lowest, above = max(y - 5, lowest + LINE, above + UNDER), y
        parts.append(f'<text class="{kind}" y="{lowest:g}">{gate(share)} {name}</text>')
    return "".join(parts)


# -- small: the results of a class at one exercise


def strip(board: Board) -> Markup:
    """Draw the ranked shares of a board, as `share_strip` does."""
    return share_strip(ranked_shares(board), (board.passing, board.great))


def share_strip(shares: Iterable[float], gates: Sequence[float]) -> Markup:
    """Draw how many shares lie in each 2% of the ceiling, from 0 at the left, and the gates."""
    counts = [0] * round(REACH / BIN)
    for share in shares:
        counts[min(max(int(share / BIN), 0), len(counts) - 1)] += 1
    most = max(counts) or 1
    width = BIN * 100
    bars = "".join(
        f"M{number * width:g} 24V{24 - 22 * count / most:.1f}h{width * 0.85:.2f}V24z"
        for number, count in enumerate(counts)
        if count
    )
    lines = "".join(f"M{gate * 100:g} 0V24" for gate in gates)
    return Markup(
        f'<svg class="strip" viewBox="0 0 {REACH * 100:g} 24" preserveAspectRatio="none"'
        f' aria-hidden="true"><path class="gate" d="{lines}"/><path class="limit" d="M100 0V24"/>'
        f'<path class="bars" d="{bars}"/></svg>'
    )


def bar(share: float | None, low: float | None, high: float | None) -> Markup:
    """Draw a share from 0 to the limit, its interval darker; the page's `#track` lies behind it."""
    if share is None:
        return Markup()
    end = _across(share)
    left, right = _across(share if low is None else low), _across(share if high is None else high)
    if right - left < 0.8:  # a narrow interval must still be visible
        left, right = max(end - 0.4, 0.0), end + 0.4
    return Markup(
        f'<svg class="bar" viewBox="0 0 {REACH * 100:g} 10" preserveAspectRatio="none"'
        f' aria-hidden="true"><use href="#track"/><path d="M0 5H{left:.1f}"/>'
        f'<path d="M{left:.1f} 5H{right:.1f}"/></svg>'
    )


def _across(share: float) -> float:
    return min(max(share, 0.0), REACH) * 100


def level(part: float, under: float = 0.0) -> Markup:
    """Draw `part` of a whole as a bar from 0 to 1, and `under`, another part, wider and paler."""
    return Markup(
        '<svg class="bar" viewBox="0 0 104 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<use href="#track"/><path d="M0 5H{_across(max(under, part)):.1f}"/>'
        f'<path d="M0 5H{_across(part):.1f}"/></svg>'
    )


# -- a class without a GPU


def points_plot(points: Sequence[int], most: int) -> Markup:
    """Draw the number of students in each twentieth of the points, from 0 to `most`."""
    counts = [0] * POINT_BINS
    for each in points:
        counts[min(each * POINT_BINS // max(most, 1), POINT_BINS - 1)] += 1
    scale = Scale(low=0, high=max(counts), top=22, bottom=180)
    step = max(math.ceil(scale.high / 4), 1)
    parts = []
    for count in range(0, max(counts) + 1, step):
        y = scale.y(count)
        parts.append(
            f'<line x1="0" x2="100%" y1="{y}" y2="{y}"/><text y="{y - 5:g}">{count}</text>'
        )
    width = 92 / POINT_BINS
    parts += [
        f'<rect class="bin" x="{6 + number * width:.2f}%" width="{width * 0.85:.2f}%"'
        f' y="{scale.y(count)}" height="{scale.bottom - scale.y(count):g}"/>'
        for number, count in enumerate(counts)
        if count
    ]
    foot = scale.bottom + 20
    parts.append(f'<text x="6%" y="{foot}">0 points</text>')
    parts.append(f'<text class="end" x="98%" y="{foot}">{most}</text>')
    ordered = sorted(points)
    words = (
        f"Points of {len(ordered)} {'student' if len(ordered) == 1 else 'students'} out of {most}, "
        f"from {ordered[0]} to {ordered[-1]}; the middle one has {ordered[len(ordered) // 2]}. "
        "The table has every figure."
    )
    return _svg("points", 208, words, parts)


# -- one student's attempts at one exercise


def attempts_scale(tried: Iterable[Tried], boards: Iterable[Board]) -> Scale:
    """Return one scale for all plots of a student, to make them comparable."""
    shares = [each.share for each in tried if each.share is not None]
    return Scale(
        low=_floor([*shares, *(board.passing for board in boards)]), high=REACH, top=14, bottom=154
    )


def attempts_plot(tried: Sequence[Tried], board: Board, scale: Scale, words: str) -> Markup:
    """Draw share by attempt, oldest at the left; attempts without a share lie below the axis."""
    xs = _xs(len(tried))
    below = f"{scale.bottom + WITHOUT_SHARE:g}"
    marks, intervals, line, best = [], [], "", None
    for x, each in zip(xs, tried, strict=True):
        if each.share is None:
            marks.append(f'<use href="#{MARK_OF[each.state]}" x="{x}%" y="{below}"/>')
            continue
        y = scale.y(each.share)
        marks.append(f'<use href="#{MARK_OF[each.state]}" x="{x}%" y="{y:g}"/>')
        if each.share_low is not None and each.share_high is not None:
            intervals.append(f"M{x} {scale.y(each.share_high)}V{scale.y(each.share_low)}")
        if (best is None or each.share > best) and each.state is State.RANKED:
            line += f"H{x}V{y}" if line else f"M{x} {y}"
            best = each.share
    if line:
        line += f"H{xs[-1]}"
    paths = (
        '<svg width="100%" height="100%" viewBox="0 0 100 180" preserveAspectRatio="none">'
        f'<path class="best" d="{line}"/><path class="spans" d="{"".join(intervals)}"/></svg>'
    )
    ruler = _ruler(scale, board.passing, board.great, "limit")
    return _svg("attempts", 180, words, [ruler, paths, *marks])


@lru_cache(maxsize=256)  # many students have the same number of attempts
def _xs(count: int) -> tuple[str, ...]:
    return tuple(f"{27 + 70 * (number + 0.5) / count:.1f}" for number in range(count))


def _high(row: Row) -> float:
    return row.share_high if row.share_high is not None else row.share or 0.0


def _svg(kind: str, height: int, words: str, parts: Iterable[str]) -> Markup:
    return Markup(
        f'<svg class="plot {kind}" role="img" aria-label="{escape(words)}" width="100%"'
        f' height="{height}">{"".join(parts)}</svg>'
    )
