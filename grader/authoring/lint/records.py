"""The report of `grader lint` on a file, `grader/lint/v1`: findings with rules and places."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from grader.model import Record


class Level(StrEnum):
    """The reliability of a rule's findings."""

    NOTE = "note"  # honest kernels do it too
    WARNING = "warning"  # none of the course's honest kernels does it


class LintFinding(Record):
    """One place that is worth a look. Lines and columns count from 1, columns in characters."""

    rule: str = Field(description="stable id, such as `KG101`")
    name: str = Field(description="the rule's name, such as `torch-operation`")
    level: Level
    message: str = Field(description="one sentence")
    why: str = Field(description="why it matters")
    action: str = Field(description="what to do")
    line: int
    column: int
    end_line: int
    end_column: int = Field(description="of the first character after it")
    function: str = Field(description="the function around it, or empty")
    code: str = Field(description="its first line, without the indent")


class Review(Record):
    """All findings of one file, from top to bottom. None of them changes a score."""

    schema_: Literal["grader/lint/v1"] = Field(default="grader/lint/v1", alias="schema")
    grader: str = Field(description="version")
    path: str
    sha256: str
    findings: tuple[LintFinding, ...]


def json_schema() -> dict[str, Any]:
    schema = Review.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
