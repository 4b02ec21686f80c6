"""Attempts and their published schemas: both accept and refuse the same texts."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import jsonschema
import pytest
from classes import KEY, attempt, timed
from pydantic import ValidationError

from grader.classroom import signing
from grader.model import attempts
from grader.model.attempts import Attempt, Signed

DOCS = Path(__file__).parents[2] / "docs"
MADE = attempt(timed(), notes=("its spec.py was changed",))
RECORDS = {"attempt": MADE, "signed": signing.sign([MADE], KEY)}


def schema(name: str) -> dict:
    return json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_the_published_schema_is_what_the_code_makes(name: str):
    printed = subprocess.run(
        [sys.executable, "-m", "grader.model.attempts", name],
        capture_output=True,
        check=True,
        text=True,
    )
    assert printed.stdout == (DOCS / f"{name}.schema.json").read_text(encoding="utf-8"), (
        f"run `python -m grader.model.attempts {name} > docs/{name}.schema.json`"
    )
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_fits_its_schema_and_comes_back(name: str):
    text = attempts.attempt_json(RECORDS[name])
    jsonschema.validate(json.loads(text), schema(name))
    assert type(RECORDS[name]).model_validate_json(text) == RECORDS[name]
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("attempt", "schema", "grader/attempt/v2"),
        ("attempt", "student", 7),
        ("attempt", "result", {}),
        ("signed", "schema", "grader/attempt/v1"),
        ("signed", "payload", {}),
    ],
)
def test_both_refuse_the_same(name: str, field: str, value):
    broken = json.loads(attempts.attempt_json(RECORDS[name])) | {field: value}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema(name))
    with pytest.raises(ValidationError):
        (Attempt if name == "attempt" else Signed).model_validate_json(json.dumps(broken))


@pytest.mark.parametrize("login", ["jörg", "JÖRG ", "Ångström", "ǰ", "straße", "ᾴ"])
def test_a_login_is_one_student_s_however_its_accents_are_encoded(login: str):
    """macOS decomposes the names of files; rosters are composed."""
    forms = [unicodedata.normalize(form, login) for form in ("NFC", "NFD")]
    composed, decomposed = map(attempts.login_of, forms)
    assert composed == decomposed == attempts.login_of(composed)


def test_every_run_has_an_id_of_its_own():
    ids = {attempts.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(one) == 32 for one in ids)
