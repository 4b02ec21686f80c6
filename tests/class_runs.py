"""Class runs made by hand, for the tests of what is made from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import reported

from grader.model.attempts import Attempt, attempt_json
from grader.model.class_run import Cell, ClassRow, ClassRun, Standing, class_json, standing_of
from grader.model.results import Environment, Result
from grader.reports.formats import facts

EXERCISES = ("01_double", "02_row_sum", "p01_copy")  # of tests/courses/small
POINTS = dict(zip(EXERCISES, (10, 10, 5), strict=True))
HANDED_IN, LATE = "2026-11-20T10:00:00Z", "2026-11-21T11:00:00Z"


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


def attempt(student: str, number: int, result: Result, when: str = HANDED_IN) -> Attempt:
    return reported.attempt(result, student, number, version="0", submitted_at=when)


def cell_of(one: Attempt) -> Cell:
    """The cell that the batch makes of an attempt that was graded."""
    result = one.result
    standing = "not_started" if result.status == "not_started" else "graded"
    return Cell(
        exercise=result.exercise,
        standing=standing,
        points=result.points,
        max_points=result.max_points,
        status=result.status.value,
        why=facts.reason(result),
        attempt=one.id,
    )


DOUBLE, ROWS = reported.of("01_double", "Double"), reported.of("02_row_sum", "Row sum")
ADA = (
    attempt("ada", 1, reported.timed(**DOUBLE)),
    attempt("ada", 2, reported.wrong("out[3] is 1, and 2 is right", **ROWS)),
)
BOBS = (reported.not_started(**DOUBLE), reported.timed(**ROWS))
BOB = tuple(attempt("bob", number, one, LATE) for number, one in enumerate(BOBS, 3))
NOISY = "another program uses this GPU"


def a_class() -> ClassRun:
    """Four students: one passes and fails, one begins, one hands in nothing, one has bad luck."""
    lost = (
        cell("01_double", standing="not_graded", why=NOISY),
        cell("02_row_sum", standing="unreadable", why="kernel.py is a link"),
    )
    return run(
        row("ada", *map(cell_of, ADA), name="Ada Lovelace", section="A", ids={"sis_id": "S1"}),
        row("bob", *map(cell_of, BOB), name="Bob", section="B", submitted_at=LATE),
        row("eve", *(cell(name, standing="missing") for name in EXERCISES[:2]), submitted_at=""),
        row("=cmd", *lost, name="Grace", section="A"),
        exercises=EXERCISES[:2],
    )


def results(folder: Path, of: ClassRun, attempts: Sequence[Attempt] = (*ADA, *BOB)) -> Path:
    """Write a class run as `grader grade` leaves it."""
    (folder / "attempts").mkdir(parents=True)
    (folder / "class.json").write_text(class_json(of), encoding="utf-8")
    by_student: dict[str, list[str]] = {}
    for one in attempts:
        by_student.setdefault(one.student, []).append(attempt_json(one))
    for student, lines in by_student.items():
        (folder / "attempts" / f"{student}.jsonl").write_text("\n".join(lines) + "\n")
    # The cache, which holds results of this class that name no student.
    (folder / "results").mkdir()
    (folder / "results" / "0a.json").write_text(attempt_json(ADA[0]))
    return folder
