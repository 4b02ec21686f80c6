"""`[grades]` of `course.toml`: the deadline, what being late costs, and what the total consists of.

    [grades]
    deadline = 2026-11-20T23:59:00+01:00

    [grades.late]
    percent = 10          # of the earned points, for each day that has begun
    most = 50             # percent
    grace_minutes = 15
    closes_after = 7      # days; then there are no points

    [grades.weights]      # shares of the total
    exercises = 80
    puzzles = 20

docs/grading.md describes every entry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader.course import SHELVES, Exercise, catalog, settings

TABLE = "grades"
UNITS = {"day": timedelta(days=1), "hour": timedelta(hours=1)}
OUT_OF = 100  # points of a weighted total


@dataclass(frozen=True)
class Late:
    """The price of handing in late: `percent` of the earned points for each unit that has begun."""

    percent: Fraction = Fraction(0)
    each: str = "day"
    most: Fraction = Fraction(100)  # percent
    grace: timedelta = timedelta()
    closes_after: int | None = None  # units after which there are no points; None: never


@dataclass(frozen=True)
class Group:
    """Exercises that share one weight of the total.

    With `best`, only so many count: those with the largest shares, all with the same weight.
    """

    name: str
    exercises: tuple[str, ...]
    weight: Fraction
    best: int | None = None


@dataclass(frozen=True)
class GradingSettings:
    """The course's rules for grading.

    `counted` are the exercises in the total; None means all. Without `groups` the total is the sum
    of their points; with groups it is out of `out_of`.
    """

    deadline: datetime | None = None
    deadlines: Mapping[str, datetime] = field(default_factory=dict)
    late: Late = Late()
    counted: frozenset[str] | None = None
    groups: tuple[Group, ...] = ()
    out_of: int = OUT_OF

    def deadline_of(self, exercise: str) -> datetime | None:
        return self.deadlines.get(exercise, self.deadline)

    def counts(self, exercise: str) -> bool:
        if self.groups:
            return any(exercise in group.exercises for group in self.groups)
        return self.counted is None or exercise in self.counted


def read(root: Path) -> GradingSettings:
    """Read the rules of the course in `root`. Raises UsageError for rules that are not valid."""
    exercises = catalog.exercises(root)
    return settings.table(root, TABLE, lambda entries: parsed(entries, exercises))


def parsed(entries: Mapping[str, Any], exercises: Sequence[Exercise]) -> GradingSettings:
    """Return the rules in the table's entries. Raises ValueError, naming the entry at fault."""
    shelf_of = {one.name: one.shelf for one in exercises}
    _require_known(
        entries, ("deadline", "deadlines", "late", "count", "weights", "best", "out_of"), TABLE
    )
    deadlines = _subtable(entries, "deadlines")
    _require_known(deadlines, shelf_of, f"{TABLE}.deadlines")
    counted = _counted(entries.get("count"), shelf_of)
    best = _subtable(entries, "best")
    return GradingSettings(
        deadline=_time(entries["deadline"], "deadline") if "deadline" in entries else None,
        deadlines={name: _time(value, name) for name, value in deadlines.items()},
        late=_late(_subtable(entries, "late")),
        counted=counted,
        groups=_groups(_subtable(entries, "weights"), best, counted, shelf_of),
        out_of=_whole(entries.get("out_of", OUT_OF), "out_of"),
    )


def _late(table: Mapping[str, Any]) -> Late:
    name = f"{TABLE}.late"
    _require_known(table, ("percent", "each", "most", "grace_minutes", "closes_after"), name)
    each = table.get("each", "day")
    if each not in list(UNITS):  # a TOML list has no hash to look it up by
        raise ValueError(f"each in [{name}] is {' or '.join(UNITS)}")
    closes = table.get("closes_after")
    return Late(
        percent=_number(table.get("percent", 0), "percent", most=100),
        each=each,
        most=_number(table.get("most", 100), "most", most=100),
        grace=timedelta(minutes=float(_number(table.get("grace_minutes", 0), "grace_minutes"))),
        closes_after=None if closes is None else _whole(closes, "closes_after"),
    )


def _counted(value: Any, shelf_of: Mapping[str, str]) -> frozenset[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise ValueError('count lists exercises, such as count = ["01_vector_add", "puzzles"]')
    _require_known(value, (*SHELVES, *shelf_of), f"count in [{TABLE}]")
    return frozenset(name for name, shelf in shelf_of.items() if {name, shelf} & set(value))


def _groups(
    weights: Mapping[str, Any],
    best: Mapping[str, Any],
    counted: frozenset[str] | None,
    shelf_of: Mapping[str, str],
) -> tuple[Group, ...]:
    """Return a group for each weight; an exercise with a weight of its own is in no other."""
    _require_known(weights, (*SHELVES, *shelf_of), f"{TABLE}.weights")
    _require_known(best, [name for name in weights if name in SHELVES], f"{TABLE}.best")
    groups = []
    for name, value in weights.items():
        of_shelf = [one for one, shelf in shelf_of.items() if shelf == name and one not in weights]
        names = [name] if name in shelf_of else of_shelf
        names = [one for one in names if counted is None or one in counted]
        if not names:
            raise ValueError(f"{name} in [{TABLE}.weights] has no exercise that counts")
        most = _whole(best[name], name) if name in best else None
        groups.append(Group(name, tuple(names), _number(value, name), most))
    if groups and not sum(group.weight for group in groups):
        raise ValueError(f"all weights in [{TABLE}.weights] are 0")
    return tuple(groups)


def _subtable(entries: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = entries.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name} is not a table: write [{TABLE}.{name}], and its entries below")
    return found


def _require_known(names: Collection[str], known: Collection[str], where: str) -> None:
    for name in names:
        if name not in known:
            few = list(known) if len(known) <= 8 else [*list(known)[:3], "…"]
            raise ValueError(
                f"{name!r} of {where} is not one of {', '.join(few)}"
                if known
                else f"{where} names {name!r}, which has no weight as exercises or puzzles"
            )


def _time(value: Any, name: str) -> datetime:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        time = None
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise ValueError(f"{name} is not a time with a zone, such as 2026-11-20T23:59:00+01:00")
    return time


def _number(value: Any, name: str, most: int | None = None) -> Fraction:
    if type(value) not in (int, float) or not 0 <= value <= (most or 1e6):
        upper = f" to {most}" if most else " or more"
        raise ValueError(f"{name} is a number from 0{upper}")
    return Fraction(str(value))


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or not 1 <= value <= 1_000_000:
        raise ValueError(f"{name} is a whole number from 1")
    return value
