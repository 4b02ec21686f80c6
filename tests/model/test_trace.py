"""The record of a case's accesses: its schema, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import traces
from pydantic import ValidationError

from grader.model import trace

PUBLISHED = Path(__file__).parents[2] / "docs" / "trace.schema.json"
SCHEMA = trace.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)  # made once: to check the schema takes long


def test_the_published_schema_is_what_the_code_makes():
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == SCHEMA, (
        "run `python -m grader.model.trace > docs/trace.schema.json`"
    )
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [*traces.ALL, "hostile"])
def test_a_trace_survives_json_and_satisfies_the_schema(name: str):
    made = getattr(traces, name)()
    text = trace.trace_json(made)
    assert trace.parse_trace(text) == made
    VALIDATOR.validate(json.loads(text))


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda t: t.update(schema="grader/trace/v2"), "grader/trace/v1"),
        (lambda t: t["accesses"][3].update(launch=1), "access 3: no such launch"),
        (lambda t: t["accesses"][3].update(block=3), "access 3: no such thread"),
        (lambda t: t["accesses"][3].update(thread=3), "access 3: no such thread"),
        (lambda t: t["accesses"][3].update(array=2), "access 3: no such array"),
        (lambda t: t["accesses"][3].update(element=5), "access 3: no such element"),
        (
            lambda t: t["accesses"][3].update(element=None),
            "access 3: an access without an element is",
        ),
        (
            lambda t: t["accesses"][3].update(fault="out_of_bounds"),
            "access 3: an access without an element",
        ),
        (lambda t: t["accesses"][3].update(line=12), "access 3: no such line"),
        (lambda t: t["accesses"][3].update(line=0), "greater than or equal to 1"),
        (lambda t: t["accesses"][3].update(kind="erase"), "'read', 'write' or 'update'"),
        (lambda t: t["accesses"][3].update(thread=-1), "greater than or equal to 0"),
        (lambda t: t["launches"][0].update(block=[0, 1, 1]), "greater than or equal to 1"),
        (lambda t: t["arrays"][1].update(name="a"), "two arrays have one name"),
        (lambda t: t.update(unwritten={"out": [5]}), "there is no element 5 in an array 'out'"),
        (lambda t: t.update(unwritten={"b": [0]}), "there is no element 0 in an array 'b'"),
        (
            lambda t: t.update(wrong={"out": [{"element": 9, "expected": "1", "got": "2"}]}),
            "there is no element 9 in an array 'out'",
        ),
    ],
)
def test_a_trace_that_is_not_whole_is_refused(
    edit: Callable[[dict[str, Any]], object], complaint: str
):
    fields = json.loads(trace.trace_json(traces.missing_guard()))
    edit(fields)
    with pytest.raises(ValidationError, match=complaint):
        trace.parse_trace(json.dumps(fields))


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda t: t["acts"][1].update(launch=1), "act 1: no such launch"),
        (lambda t: t["acts"][1].update(operation=2), "act 1: no such launch or operation"),
        (lambda t: t["acts"][1].update(block=3), "act 1: no such program"),
        (lambda t: t["acts"][1].update(step=1), "act 1: no such program or part"),
        (lambda t: t["acts"][1].update(active=5), "act 1: more lanes"),
        (lambda t: t["accesses"][1].update(act=2), "access 1: of another act"),
        (lambda t: t["accesses"][1].update(act=9), "access 1: no such act"),
        (lambda t: t["operations"][0].update(line=11), "an operation in no launch or line"),
        (lambda t: t["stopped"].update(block=3), "no such thread or block was stopped"),
        (lambda t: t["stopped"].update(operations=[2]), "no such operation"),
        (lambda t: t["stopped"].update(launch=1), "stopped in no launch"),
    ],
)
def test_a_trace_of_programs_that_is_not_whole_is_refused(
    edit: Callable[[dict[str, Any]], object], complaint: str
):
    fields = json.loads(trace.trace_json(traces.missing_mask()))
    edit(fields)
    with pytest.raises(ValidationError, match=complaint):
        trace.parse_trace(json.dumps(fields))


def test_fields_that_a_reader_does_not_know_are_ignored():
    fields = json.loads(trace.trace_json(traces.good_map()))
    assert trace.parse_trace(json.dumps(fields | {"later": 1})) == traces.good_map()
