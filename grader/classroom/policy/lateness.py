"""Deadlines and lateness: the part of earned points that a late submission loses, and why.

A later deadline never costs points, and a later submission never gains any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction

from grader.classroom.policy.settings import UNITS, Late
from grader.model import stamp, utc


@dataclass(frozen=True)
class Lateness:
    """The time after the deadline in seconds, and the percentage of the points that it costs."""

    seconds: int = 0
    percent: Fraction = Fraction(0)
    reason: str = ""


def extension(text: str) -> datetime | None:
    """Read a student's own deadline; None if it is not a time. A day means its end, in UTC."""
    text = text.strip()
    try:
        return datetime.combine(date.fromisoformat(text), time(23, 59, 59), UTC)
    except ValueError:
        pass  # no day alone
    try:
        return utc(text)
    except ValueError:
        return None


def latest(deadline: datetime | None, extensions: Iterable[datetime | None]) -> datetime | None:
    """Return the deadline after extensions; an earlier one shortens nothing. None: no deadline."""
    if deadline is None:
        return None
    return max((deadline, *(one for one in extensions if one is not None)))


def lateness(submitted: datetime | None, deadline: datetime | None, late: Late) -> Lateness:
    """Return what a submission at this time costs; nothing where one of the times is not known."""
    if submitted is None or deadline is None or submitted <= deadline:
        return Lateness()
    after = submitted - deadline
    seconds = int(after.total_seconds())
    if after <= late.grace:
        return Lateness(seconds, Fraction(0), f"{_words(after)} late, within the grace period")
    units = -(-after // UNITS[late.each])
    behind = f"{_words(after)} late"
    if late.closes_after is not None and units > late.closes_after:
        end = deadline + late.closes_after * UNITS[late.each]
        return Lateness(seconds, Fraction(100), f"{behind}, and no points after {stamp(end)}")
    percent = min(units * late.percent, late.most)
    counted = f"{units} {late.each}{'' if units == 1 else 's'} begun"
    return Lateness(seconds, percent, f"{behind} ({counted}): {float(percent):g} % off")


def _words(after: timedelta) -> str:
    """Write a time in its two largest units, such as `2 days 3 h`."""
    minutes, seconds = divmod(int(after.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} day{'' if days == 1 else 's'}" + (f" {hours} h" if hours else "")
    if hours:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    return f"{minutes} min" if minutes else f"{seconds} s"
