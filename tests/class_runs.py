"""Class runs made by hand, for the tests of what is made from them."""

from __future__ import annotations

from typing import Any

from grader.model.class_run import Cell, ClassRow, ClassRun, Standing, standing_of
from grader.model.results import Environment

EXERCISES = ("01_double", "02_row_sum", "p01_copy")  # of tests/courses/small
POINTS = dict(zip(EXERCISES, (10, 20, 5), strict=True))
HANDED_IN = "2026-11-20T10:00:00Z"


def cell(
    exercise: str = "01_double",
    points: int | None = None,
    standing: Standing = "graded",
    **changes: Any,
) -> Cell:
    """A cell with its points; `not_started` and `graded` have some, as the record demands."""
    if standing in ("graded", "not_started") and points is None:
        points = 0
    most = POINTS.get(exercise, 10)
    return Cell(exercise=exercise, standing=standing, points=points, max_points=most, **changes)


def row(student: str = "ada", *cells: Cell, **changes: Any) -> ClassRow:
    given = {"name": "", "submitted_at": HANDED_IN, "standing": standing_of(cells)} | changes
    return ClassRow(student=student, cells=cells, **given)


def run(*rows: ClassRow, exercises: tuple[str, ...] = EXERCISES, **changes: Any) -> ClassRun:
    given: dict[str, Any] = {
        "course": "small",
        "version": "0",
        "made_at": "2026-11-21T10:00:00Z",
        "complete": True,
        "hardened": True,
        "graders": (Environment(grader="0", python="3", device="cpu", simulated=True),),
    }
    return ClassRun(exercises=exercises, rows=rows, **given | changes)
