"""The record of a class and its published schema: no fault of a machine is ever a zero."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from grader.model import Cell, ClassRow, ClassRun, UsageError, class_json, class_run, parse_class

PUBLISHED = Path(__file__).parents[2] / "docs" / "class.schema.json"
CELL = Cell(exercise="01", standing="graded", points=7, max_points=10, status="fail", why="slow")
ROW = ClassRow(student="ada", name="Ada", standing="graded", cells=(CELL,), ids={"SIS": "7"})
RUN = ClassRun(
    course="kernels",
    version="1",
    exercises=("01",),
    made_at="2026-11-26T15:00:00+00:00",
    complete=True,
    hardened=True,
    graders=(),
    rows=(ROW,),
)


def schema() -> dict:
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))


def test_the_published_schema_is_what_the_code_makes():
    printed = subprocess.run(
        [sys.executable, "-m", "grader.model.class_run"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert printed.stdout == PUBLISHED.read_text(encoding="utf-8"), (
        "run `python -m grader.model.class_run > docs/class.schema.json`"
    )
    jsonschema.Draft202012Validator.check_schema(schema())


def test_a_record_fits_its_schema_and_comes_back():
    text = class_json(RUN)
    jsonschema.validate(json.loads(text), schema())
    assert parse_class(text, "class.json") == RUN


@pytest.mark.parametrize(
    ("standing", "points"),
    [("not_graded", 0), ("missing", 0), ("unreadable", 3), ("graded", None), ("not_started", None)],
)
def test_a_cell_has_points_only_with_a_grade(standing: str, points: int | None):
    # A zero for a fault of a machine would reach the gradebook as a student's own.
    with pytest.raises(ValidationError):
        Cell(exercise="01", standing=standing, points=points, max_points=10)


def test_a_row_is_graded_if_any_cell_is():
    def cell(standing: str) -> Cell:
        points = 0 if standing in ("graded", "not_started") else None
        return Cell(exercise="01", standing=standing, points=points, max_points=10)

    def standing(*words: str) -> str:
        return class_run.standing_of(tuple(map(cell, words)))

    assert standing("missing", "missing") == "missing"
    assert standing("not_started", "not_graded") == "not_graded"
    assert standing("not_started", "graded", "not_graded") == "graded"
    assert standing() == "missing"


@pytest.mark.parametrize("text", ["", "{", "{}", class_json(RUN)[:-9]])
def test_half_a_record_is_none(text: str):
    with pytest.raises(UsageError):
        parse_class(text, "class.json")
