"""The record of one student's kernel graded once, `grader/attempt/v1`, and its signed form.

A result knows no student; an attempt is a result with whose it is, when it was handed in, and what
it was graded with. What a trusted run made is signed: `grader/signed/v1` holds the attempts of the
run as the very text that was signed. Reading one says nothing of whether the signature is good: see
grader.classroom.signing.

The published schemas are docs/attempt.schema.json and docs/signed.schema.json;
`python -m grader.model.attempts attempt` and `signed` print them.
"""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any, Literal

from pydantic import Field

from grader.model.results import Record, Result


class Attempt(Record):
    """One kernel of one student, graded once."""

    schema_: Literal["grader/attempt/v1"] = Field(default="grader/attempt/v1", alias="schema")
    id: str = Field(description="128 random bits of this run, hexadecimal; twice is a replay")
    course: str = Field(description="the course's name in course.toml")
    version: str = Field(description="the course's version in course.toml")
    student: str = Field(description="as the class knows the student: a login. Never published")
    submitted_at: str = Field(description="when it was handed in: UTC, ISO 8601")
    notes: tuple[str, ...] = Field(
        default=(), description="what a teacher should know, such as a spec that was changed"
    )
    result: Result


class Signed(Record):
    """The attempts of one run, as signed by whoever runs the course."""

    schema_: Literal["grader/signed/v1"] = Field(default="grader/signed/v1", alias="schema")
    key: str = Field(description="fingerprint of the public key: SHA-256, first 16 hex digits")
    signature: str = Field(description="Ed25519 (RFC 8032), base64; of what, signing.message says")
    payload: str = Field(description="the attempts as JSON, one a line: the very text signed")


def login_of(student: str) -> str:
    """What is the same of one student: case and blanks around a login make no difference."""
    return student.strip().casefold()


def new_id() -> str:
    return secrets.token_hex(16)


def attempt_json(record: Attempt | Signed) -> str:
    """One line of JSON."""
    return record.model_dump_json(by_alias=True)


def json_schema(record: type[Record]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a record."""
    schema = record.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    records: dict[str, type[Record]] = {"attempt": Attempt, "signed": Signed}
    print(json.dumps(json_schema(records[sys.argv[1]]), indent=2))
