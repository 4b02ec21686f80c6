"""Who stands where: pure decisions on shares with their intervals."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.board.entries import Entry, Figures
from grader.classroom.board.records import State

# How far an attempt that does not rank came, the furthest first.
FURTHEST = (
    State.SOLVED,
    State.UNVERIFIED,
    State.NOISY,
    State.NOT_TIMED,
    State.INVALIDATED,
    State.IMPOSSIBLE,
    State.FAILED,
)


@dataclass(frozen=True)
class Span:
    """A share of the ceiling with its interval: low <= middle <= high."""

    low: float
    middle: float
    high: float


def span(figures: Figures) -> Span:
    return Span(figures.share_low, figures.share, figures.share_high)


def ranks(spans: Sequence[Span]) -> list[int]:
    """The rank of each: 1 + how many have their whole interval above this one's.

    Two that overlap do not count against each other. They share a rank unless a third lies wholly
    above only one of them.
    """
    lows = sorted(one.low for one in spans)
    return [1 + len(lows) - bisect_right(lows, one.high) for one in spans]


Best = Mapping[str, tuple[Entry, int]]  # by login: what stands for the student, and out of how many


def best_of(entries: Iterable[Entry]) -> dict[str, Best]:
    """By exercise. `entries` are oldest first."""
    tried: dict[str, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        tried[entry.exercise][entry.student].append(entry)
    return {
        exercise: {login: (best(own), len(own)) for login, own in students.items()}
        for exercise, students in tried.items()
    }


def places(ranked: Sequence[Entry]) -> dict[str, int]:
    """The ranks of the best attempts on one board, by their ids."""
    spans = [span(entry.figures) for entry in ranked if entry.figures is not None]
    return dict(zip((entry.id for entry in ranked), ranks(spans), strict=True))


def leaders(best: Best, top: int) -> list[Entry]:
    """The first `top` on one board, in the order of its table."""
    ranked = [entry for entry, _ in best.values() if entry.state is State.RANKED]
    place = places(ranked)

    def order(entry: Entry) -> tuple[int, float, str, str]:
        assert entry.figures is not None
        return (place[entry.id], -entry.figures.share, entry.when, entry.id)

    return sorted(ranked, key=order)[:top]


def best(attempts: Iterable[Entry]) -> Entry:
    """The attempt that stands for a student on a board, out of one or more.

    Of those that rank it is the one whose interval begins highest: the share that was reached for
    certain, which no luck with a wide interval gives. Where none ranks it is the one that came
    furthest, and of those the one that claims most, then the latest.
    """
    tried = list(attempts)
    ranked = [entry for entry in tried if entry.state is State.RANKED]
    if ranked:
        return min(ranked, key=_certain)
    return min(reversed(tried), key=_far)


def _certain(entry: Entry) -> tuple[float, float, str, str]:
    assert entry.figures is not None
    return (-entry.figures.share_low, -entry.figures.share, entry.when, entry.id)


def _far(entry: Entry) -> tuple[int, float]:
    share = 0.0 if entry.figures is None else entry.figures.share_low
    return (FURTHEST.index(entry.state), -share)


def mean(spans: Iterable[Span | None], count: int) -> Span:
    """The mean share over `count` exercises; one that was not ranked counts as 0.

    Errors of different exercises are independent: the half widths add as the root of the sum of
    their squares, below and above the mean each for itself.
    """
    known = [one for one in spans if one is not None]
    if not known:
        return Span(0.0, 0.0, 0.0)
    middle = math.fsum(one.middle for one in known) / count
    below = math.sqrt(math.fsum((one.middle - one.low) ** 2 for one in known)) / count
    above = math.sqrt(math.fsum((one.high - one.middle) ** 2 for one in known)) / count
    return Span(middle - below, middle, middle + above)
