"""The record of one student's kernel graded once, `grader/attempt/v1`, and its signed form.

A result names no student. An attempt adds the student, the time of submission and the course. The
attempts of a trusted run are signed: `grader/signed/v1` holds them as the very text that was
signed. To read one proves nothing: `grader.classroom.signing` verifies the signature.

The published schemas are docs/attempt.schema.json and docs/signed.schema.json; `python -m
grader.model.attempts attempt` and `signed` print them.
"""

from __future__ import annotations

import json
import secrets
import sys
import unicodedata
from typing import Any, Literal

from pydantic import Field

from grader.model.record import Record
from grader.model.results import Result


class Attempt(Record):
    """One kernel of one student, graded once."""

    schema_: Literal["grader/attempt/v1"] = Field(default="grader/attempt/v1", alias="schema")
    id: str = Field(description="128 random bits of this run, hexadecimal; twice is a replay")
    course: str = Field(description="the course's name in course.toml")
    version: str = Field(description="the course's version in course.toml")
    student: str = Field(description="as the class knows the student: a login. Never published")
    submitted_at: str = Field(description="time of submission: UTC, ISO 8601")
    notes: tuple[str, ...] = Field(
        default=(), description="notes for a teacher, such as a spec that was changed"
    )
    result: Result


class Signed(Record):
    """The attempts of one run, as signed by whoever runs the course."""

    schema_: Literal["grader/signed/v1"] = Field(default="grader/signed/v1", alias="schema")
    key: str = Field(description="fingerprint of the public key: SHA-256, first 16 hex digits")
    signature: str = Field(description="Ed25519 (RFC 8032), base64, of signing.message()")
    payload: str = Field(description="the attempts as JSON, one a line: the very text signed")


def login_of(student: str) -> str:
    """Return a login without its case and blanks, composed: `Ada ` and `ada` are one student."""
    # The names of files from macOS are decomposed. Some letters decompose when they are folded.
    return unicodedata.normalize("NFC", student.strip().casefold())


def new_id() -> str:
    return secrets.token_hex(16)


def attempt_json(record: Attempt | Signed) -> str:
    return record.model_dump_json(by_alias=True)


def json_schema(record: type[Record]) -> dict[str, Any]:
    schema = record.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    records: dict[str, type[Record]] = {"attempt": Attempt, "signed": Signed}
    print(json.dumps(json_schema(records[sys.argv[1]]), indent=2))
