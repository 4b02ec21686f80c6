"""Ranks of attempts: pure decisions on shares with their intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.board.entries import Entry, Figures
from grader.classroom.board.records import State

# The states of attempts without a rank, the most successful first.
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


def certain(one: Span) -> tuple[float, float, float]:
    """Return the key that orders shares, the lowest first: the interval's lower end decides.

    That share was certainly reached: a wide interval never gains a place. The upper end makes the
    order of equal shares definite, for it decides which rows are marked as close.
    """
    return one.low, one.middle, one.high


def places(ordered: Sequence[Span]) -> list[tuple[int, bool]]:
    """Return the rank of each row, and whether the measurement cannot tell it from the one above.

    `ordered` begins with the highest by `certain`. A rank is 1 + the number of intervals that begin
    higher. A row is close to the one above where the two intervals overlap. The page does the same
    for the rows that a reader chose (reports/pages/board.js).
    """
    found: list[tuple[int, bool]] = []
    for number, one in enumerate(ordered):
        if number == 0:
            found.append((1, False))
            continue
        above = ordered[number - 1]
        same = one.low == above.low
        found.append((found[-1][0] if same else number + 1, one.high >= above.low))
    return found


Best = Mapping[str, tuple[Entry, int]]  # by login: the student's best attempt, and their number


def best_of(entries: Iterable[Entry]) -> dict[str, Best]:
    """Return each student's best attempt, by exercise. `entries` are oldest first."""
    attempts: dict[str, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        attempts[entry.exercise][entry.student].append(entry)
    return {
        exercise: {login: (best(own), len(own)) for login, own in students.items()}
        for exercise, students in attempts.items()
    }


def leaders(best: Best, top: int | None = None) -> list[Entry]:
    """Return the ranked attempts on one board in the order of its table, or the first `top`."""
    ranked = [entry for entry, _ in best.values() if entry.state is State.RANKED]
    return sorted(ranked, key=_by_certain_share)[:top]


def best(attempts: Iterable[Entry]) -> Entry:
    """Choose the attempt that a board shows of a student, out of one or more.

    Of ranked ones it is the one whose interval begins highest: that share was surely reached, and a
    wide interval gives no advantage. Without a ranked one the most successful state counts, then
    the largest claim, then the latest.
    """
    own = list(attempts)
    ranked = [entry for entry in own if entry.state is State.RANKED]
    if ranked:
        return min(ranked, key=_by_certain_share)
    return min(reversed(own), key=_by_success)


def _by_certain_share(entry: Entry) -> tuple[float, float, float, str, str]:
    assert entry.figures is not None
    low, middle, high = certain(span(entry.figures))
    return (-low, -middle, -high, entry.when, entry.id)


def _by_success(entry: Entry) -> tuple[int, float]:
    share = 0.0 if entry.figures is None else entry.figures.share_low
    return (FURTHEST.index(entry.state), -share)


def mean(spans: Iterable[Span | None], count: int) -> Span:
    """Return the mean share over `count` exercises; one without a rank counts as 0.

    Errors of different exercises are independent: the half widths add as the root of the sum of
    their squares, separately below and above the mean.
    """
    known = [one for one in spans if one is not None]
    if not known:
        return Span(0.0, 0.0, 0.0)
    middle = math.fsum(one.middle for one in known) / count
    below = math.sqrt(math.fsum((one.middle - one.low) ** 2 for one in known)) / count
    above = math.sqrt(math.fsum((one.high - one.middle) ** 2 for one in known)) / count
    return Span(middle - below, middle, middle + above)
