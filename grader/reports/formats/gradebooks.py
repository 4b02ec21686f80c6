"""Gradebooks of other systems: what is filled in, and points on the scale of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from grader.classroom.policy.records import text_of


@dataclass(frozen=True)
class Filled:
    """The gradebook to import, with so many cells filled, and what it lacks."""

    text: str
    cells: int
    unknown_students: tuple[str, ...] = ()
    unknown_exercises: tuple[str, ...] = ()


def scaled(earned: Fraction, most: Fraction, possible: Fraction | None) -> str:
    """Write points on the gradebook's scale, as `text_of` does."""
    return text_of(possible * earned / most if possible and most else earned)


def possible_points(text: str) -> Fraction | None:
    """Parse the points that a gradebook gives for a column; None if the text is not a number."""
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        return None
