"""The bytes that one call holds as they change: recorded in few points, sent, and distrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from grader.model import wire

MOST_POINTS = 256  # of one series
_SPANS = (MOST_POINTS - 2) // 2  # an odd number; each keeps its lowest and its highest point

Point = tuple[int, int]


@dataclass(frozen=True)
class HeldSeries:
    """The bytes held at the start of a call and after each change, or why they are not known.

    A point is the number of a change and the bytes held after it. Number 0 is the start. Of more
    changes than fit, the points of the lowest and the highest bytes remain.
    """

    points: tuple[Point, ...] = ()
    missing: str = ""

    @property
    def peak(self) -> int:
        return max((held for _, held in self.points), default=0)


class HeldRecorder:
    """Records a series of any length in little memory.

    Consecutive changes share a span, which keeps its lowest and its highest point. When all spans
    are taken, each two become one.
    """

    def __init__(self, held: int) -> None:
        self._first: Point = (0, held)
        self._last: Point = (0, held)
        self._spans: list[tuple[Point, Point]] = []
        self._width = 1  # changes of a span

    def note(self, held: int) -> None:
        """Record the bytes that are held now; the same as before are no change."""
        if held == self._last[1]:
            return
        number = self._last[0] + 1
        self._last = point = (number, held)
        if (number - 1) // self._width == len(self._spans):
            self._spans.append((point, point))
        else:
            self._spans[-1] = _joined(self._spans[-1], (point, point))
        if len(self._spans) > _SPANS:
            pairs = zip(self._spans[::2], self._spans[1::2], strict=True)
            self._spans = [_joined(one, other) for one, other in pairs]
            self._width *= 2

    def series(self) -> HeldSeries:
        kept = {point for span in self._spans for point in span}
        return HeldSeries(tuple(sorted(kept | {self._first, self._last})))


def _joined(one: tuple[Point, Point], other: tuple[Point, Point]) -> tuple[Point, Point]:
    both = (*one, *other)
    return min(both, key=lambda point: point[1]), max(both, key=lambda point: point[1])


def read_held_series(value: object) -> HeldSeries:
    """Return the series that a worker sent.

    One of another form is missing, and raises nothing: it is drawn, and `peak` decides.
    """
    try:
        return HeldSeries(_points(value))
    except (KeyError, TypeError, ValueError):
        return HeldSeries(missing="the kernel's process sent something else than a series")


def _points(value: Any) -> tuple[Point, ...]:
    if not isinstance(value, Mapping) or not 0 < len(value["points"]) <= MOST_POINTS:
        raise ValueError("not a series")
    points = tuple((wire.total(number), wire.total(held)) for number, held in value["points"])
    numbers = [number for number, _ in points]
    if numbers[0] != 0 or any(after <= before for before, after in pairwise(numbers)):
        raise ValueError("not in order")
    return points


def between(series: HeldSeries | None, least: int, most: int) -> HeldSeries:
    """Return the series, or why it is missing: its peak is not from `least` to `most` bytes."""
    if series is None:
        return HeldSeries(missing="the kernel's process sent no series")
    if series.missing or least <= series.peak <= most:
        return series
    counted = f"at least {least:,}" if series.peak < least else f"at most {most:,}"
    peak = f"the series of the kernel's process has a peak of {series.peak:,} bytes"
    return HeldSeries(missing=f"{peak}, and the step counted {counted}")
