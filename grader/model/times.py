"""Times as records write them: ISO 8601, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

CLOCKS_DIFFER = timedelta(minutes=5)  # by so much, among honest machines


def utc(text: str) -> datetime:
    """A time in ISO 8601; one that names no zone is UTC. Raises ValueError."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("the year is none") from None


def to_come(time: datetime, now: datetime) -> bool:
    """Whether a time lies further in the future than clocks differ."""
    return time > now + CLOCKS_DIFFER


def sortable(text: str) -> str:
    """A time as a text that sorts by time; what is no time sorts before all that are."""
    try:
        return stamp(utc(text))
    except ValueError:
        return ""


def stamp(time: datetime) -> str:
    """A time in UTC to the second, such as `2026-11-21T15:04:05Z`."""
    return time.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
