"""Times as records write them: ISO 8601, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

CLOCKS_DIFFER = timedelta(minutes=5)  # by so much, among honest machines


def utc(text: str) -> datetime:
    """Read a time in ISO 8601; one that names no zone is UTC. Raises ValueError."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("the year is out of range") from None


def is_future(time: datetime, now: datetime) -> bool:
    return time > now + CLOCKS_DIFFER


def time_key(text: str) -> str:
    """Return a text that sorts by time; the empty text for anything but a time."""
    try:
        return stamp(utc(text))
    except ValueError:
        return ""


def stamp(time: datetime) -> str:
    """Return a time in UTC to the second, such as `2026-11-21T15:04:05Z`."""
    return time.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
