"""The record of a folder of published solutions, `grader/solutions/v1`, with the day to show them.

It lies in the folder as `solutions.json` and lists the files of each solution. It carries the
course's policy: `grader solution` obeys it, wherever the folder is copied.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Literal

from pydantic import Field, field_validator

from grader.course import Policy, When
from grader.model import Record

FILE = "solutions.json"


class FurtherSolution(Record):
    """Another solution of an exercise, in another language or fast; in the exercise's folder."""

    file: str
    title: str
    sha256: str = Field(description="SHA-256 of the file, hexadecimal")
    text: str | None = Field(description="SHA-256 of its text, FILE.md; null: it has none")

    @field_validator("file")
    @classmethod
    def _a_file_of_the_folder(cls, name: str) -> str:
        if "/" in name or not name.endswith(".py"):
            raise ValueError(f"{name!r} is not the name of a kernel file")
        return name


class PublishedSolution(Record):
    """One exercise of the folder; its files lie in the folder `name` within it."""

    name: str
    title: str
    sha256: str = Field(description="SHA-256 of its kernel.py, hexadecimal")
    commentary: str | None = Field(description="SHA-256 of its commentary.md; null: it has none")
    further: tuple[FurtherSolution, ...] = Field(default=(), description="the others, or none")

    @field_validator("name")
    @classmethod
    def _a_folder_in_this_one(cls, name: str) -> str:
        if name in ("", ".", "..") or "/" in name:
            raise ValueError(f"{name!r} is not the name of a folder")
        return name


class Solutions(Record):
    """The contents of one folder of published solutions."""

    schema_: Literal["grader/solutions/v1"] = Field(default="grader/solutions/v1", alias="schema")
    course: str = Field(description="the course's name in course.toml")
    title: str = Field(description="the course's title in course.toml")
    version: str = Field(description="the course's version in course.toml")
    policy: str = Field(description="`now`, `on-pass`, or `after:` and a day")
    exercises: tuple[PublishedSolution, ...] = Field(description="none before the policy's day")
    files: tuple[str, ...] = Field(description="every file of the folder but this one")

    @field_validator("policy")
    @classmethod
    def _a_known_policy(cls, text: str) -> str:
        Policy.parse(text)
        return text


def to_json(solutions: Solutions) -> str:
    return solutions.model_dump_json(by_alias=True, indent=2) + "\n"


def from_json(text: bytes) -> Solutions:
    """Parse a record. Raises pydantic.ValidationError when the text is none of this version."""
    return Solutions.model_validate_json(text)


def json_schema() -> dict[str, Any]:
    schema = Solutions.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def future_release(policy: Policy, now: datetime) -> date | None:
    """Return the day from which solutions may be seen, or None once it has begun in UTC.

    `now` carries its time zone. It is the caller's clock: a wrong one may show solutions too early.
    """
    if policy.when is not When.AFTER or policy.day is None:
        return None
    return policy.day if now.astimezone(UTC).date() < policy.day else None
