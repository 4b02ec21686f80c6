"""Points as gradebooks take them: for each student and exercise, and on the gradebook's scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.model import Attempt
from grader.reports.formats import facts

Points = tuple[int, int]  # earned, and possible


@dataclass(frozen=True)
class Filled:
    """The gradebook to import, with so many cells filled, and what it lacks."""

    text: str
    cells: int
    unknown_students: tuple[str, ...] = ()
    unknown_exercises: tuple[str, ...] = ()


def points_of(attempts: Sequence[Attempt], total: str) -> Mapping[str, Mapping[str, Points]]:
    """Return for each student, by login, the points of each exercise that was graded.

    Of several attempts at one exercise the last graded one counts. `total` names the sum over all
    exercises; a student has none if one of their exercises was not graded.
    """
    points: dict[str, dict[str, Points | None]] = {}
    best: dict[str, int] = {}
    for attempt in attempts:
        mine, result = points.setdefault(attempt.student, {}), attempt.result
        best[result.exercise] = max(best.get(result.exercise, 0), facts.most(result))
        if facts.graded(result):
            mine[result.exercise] = facts.earned(result), facts.most(result)
        else:
            mine.setdefault(result.exercise, None)
    for mine in points.values():
        earned = facts.sum_or_none(None if of is None else of[0] for of in mine.values())
        if total and earned is not None:
            mine[total] = earned, sum(best.values())
    return {
        student: {name: of for name, of in mine.items() if of is not None}
        for student, mine in points.items()
    }


def scaled(earned: int, most: int, possible: Fraction | None) -> str:
    """Write points on the gradebook's scale, with at most two decimals."""
    value = Fraction(earned) if not (possible and most) else possible * earned / most
    return f"{float(value):.2f}".rstrip("0").rstrip(".")


def possible_points(text: str) -> Fraction | None:
    """Parse the points that a gradebook gives for a column; None for a text that is no number."""
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        return None
