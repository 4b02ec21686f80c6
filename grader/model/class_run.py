"""The record of a class graded at once, `grader/class/v1`: one row for each student of the roster.

`grader grade` writes it; policy, exports and pages read it. A cell that is not a grade has no
points, so a fault of a machine never becomes a zero.

The published schema is docs/class.schema.json; `python -m grader.model.class_run` prints it.
"""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from grader.model.errors import UsageError
from grader.model.record import Record
from grader.model.results import Environment, first_error

# graded       the points are the result's
# not_started  the file holds the stub, or is not there: 0 points
# missing      the student handed in nothing
# unreadable   what was handed in could not be read: `why` says what is wrong with it
# not_graded   a machine or the grader is at fault: never a zero
Standing = Literal["graded", "not_started", "missing", "unreadable", "not_graded"]


class Cell(Record):
    """One exercise of one student. Only a graded or not started one has points."""

    exercise: str
    standing: Standing
    points: int | None = Field(default=None, description="null: no grade, and not a zero")
    max_points: int
    status: str = Field(default="", description="the result's status, of a graded cell")
    why: str = Field(default="", description="one sentence, where there are no full points")
    attempt: str = Field(default="", description="the id of the attempt in attempts/")

    @model_validator(mode="after")
    def _has_points_only_with_a_grade(self) -> Self:
        if (self.points is None) == (self.standing in ("graded", "not_started")):
            raise ValueError(f"{self.standing} does not go with points {self.points}")
        return self


class ClassRow(Record):
    """One student of the roster, with a cell for each exercise of the run."""

    student: str = Field(description="the login, as the roster spells it")
    name: str
    group: str = ""
    section: str = ""
    submitted_at: str = Field(default="", description="UTC, ISO 8601; empty: nothing says so")
    due: str = Field(default="", description="this student's own deadline, ISO 8601")
    place: str = Field(default="", description="where the submission was found, for people")
    standing: Standing = Field(description="graded if any cell is")
    why: str = ""
    notes: tuple[str, ...] = ()
    ids: dict[str, str] = Field(
        default_factory=dict, description="further columns of the roster, which exports need"
    )
    cells: tuple[Cell, ...]


class ClassRun(Record):
    """One class graded: all students of the roster, in its order."""

    schema_: Literal["grader/class/v1"] = Field(default="grader/class/v1", alias="schema")
    course: str = Field(description="the course's name in course.toml")
    version: str = Field(description="the course's version in course.toml")
    exercises: tuple[str, ...] = Field(description="of each row's cells, in their order")
    made_at: str = Field(description="UTC, ISO 8601")
    complete: bool = Field(description="false: the run was interrupted, and can be resumed")
    hardened: bool
    graders: tuple[Environment, ...] = Field(description="the machines that graded, each kind once")
    rows: tuple[ClassRow, ...]
    strangers: tuple[str, ...] = Field(
        default=(), description="submissions of nobody on the roster, a sentence each"
    )
    problems: tuple[str, ...] = Field(
        default=(), description="of the roster and the submissions, a sentence each"
    )


def standing_of(cells: tuple[Cell, ...]) -> Standing:
    """Return the standing of a row from its cells: graded if any is, then what needs a person."""
    found = {cell.standing for cell in cells}
    order: tuple[Standing, ...] = ("graded", "not_graded", "unreadable", "not_started", "missing")
    return next((one for one in order if one in found), "missing")


def class_json(run: ClassRun) -> str:
    return run.model_dump_json(by_alias=True, indent=1)


def parse_class(text: str | bytes, name: str) -> ClassRun:
    """Read the record of a class, from a file that messages call `name`. Raises UsageError."""
    try:
        return ClassRun.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(
            f"{name} is no whole grader/class/v1: {first_error(error)}.",
            "`grader grade` writes it: run it again with --resume.",
        ) from None


def json_schema() -> dict[str, Any]:
    schema = ClassRun.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
