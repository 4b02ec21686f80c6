"""The record of a check and its published schema: they accept and refuse the same texts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from grader.model import results
from grader.model.outcomes import Outcome, Status
from grader.model.results import Clocks, Failure, Frame, Speed, parse_result, result_json

HERE = Path(__file__).parents[1]
PUBLISHED = HERE.parent / "docs" / "result.schema.json"
SCHEMA = json.loads(PUBLISHED.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)  # made once: to check the schema takes long
PASSED = parse_result((HERE / "courses" / "result.json").read_bytes())

FAILURE = Failure(
    kind="mismatch",
    message="element (0, 1024) of out was never written",
    expected="0.00098",
    got="nan",
    where="column 1024 of every row",
    case="1 × 1,025 in float16",
    replay="grader check 04_online_softmax --case '1x1025,float16,seed=81'",
    frames=(Frame(line=17, function="softmax_kernel", code="tl.store(p, y)"),),
    hint="Look at the mask.",
)
SPEED = Speed(
    case="1,024 × 65,536 in float32",
    bytes_moved=2**29,
    time_ms=0.13,
    bandwidth_gbps=4129.8,
    ceiling_gbps=4300.0,
    share=0.96,
    share_low=0.958,
    share_high=0.961,
    passing=0.56,
    great=0.8,
    goes=16,
    calls_per_go=4,
    first_call_s=0.62,
    latency_case="1 × 1,024 in float32",
    latency_us=8.31,
    clocks=Clocks(
        sm_mhz=(1905, 1980), memory_mhz=(3201, 3201), temperature_c=48, slowdowns=("power limit",)
    ),
)
FULL = PASSED.model_copy(
    update={
        "steps": (
            *PASSED.steps[:2],
            PASSED.steps[2].model_copy(update={"outcome": Outcome.FAIL, "failure": FAILURE}),
            *PASSED.steps[3:5],
            PASSED.steps[5].model_copy(update={"outcome": Outcome.PASS, "speed": SPEED}),
        )
    }
)


def test_the_published_schema_is_what_the_code_makes():
    made = subprocess.run(
        [sys.executable, "-m", "grader.model.results"], capture_output=True, check=True, text=True
    )
    assert made.stdout == PUBLISHED.read_text(encoding="utf-8"), (
        "run `python -m grader.model.results > docs/result.schema.json`"
    )


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("result", [PASSED, FULL], ids=["pass", "full"])
def test_a_result_survives_json_and_satisfies_the_schema(result: results.Result):
    text = result_json(result)
    assert "\n" not in text
    assert json.loads(text)["schema"] == "grader/result/v1"
    assert parse_result(text) == result
    VALIDATOR.validate(json.loads(text))


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("status", Status)
def test_every_word_of_a_verdict_is_in_the_schema(status: Status, outcome: Outcome):
    steps = [step.model_copy(update={"outcome": outcome}) for step in PASSED.steps]
    made = PASSED.model_copy(update={"status": status, "steps": tuple(steps)})
    VALIDATOR.validate(json.loads(result_json(made)))


def edited(edit: Callable[[dict[str, Any]], object]) -> str:
    record = json.loads(result_json(FULL))
    edit(record)
    return json.dumps(record)


@pytest.mark.parametrize(
    "edit",
    [
        lambda r: r.pop("status"),
        lambda r: r.pop("steps"),
        lambda r: r.pop("points"),
        lambda r: r.pop("kernel"),
        lambda r: r["kernel"].pop("sha256"),
        lambda r: r["steps"][0].pop("outcome"),
        lambda r: r["environment"].pop("simulated"),
        lambda r: r["steps"][3]["traffic"][0].pop("reads"),
        lambda r: r["steps"][3]["traffic"][0].update(most_reads="once"),
        lambda r: r["steps"][3].update(traffic=None),
        lambda r: r["steps"][5]["speed"].pop("share"),
        lambda r: r.update(schema="grader/result/v2"),
        lambda r: r.update(status="passed"),
        lambda r: r.update(status=None),
        lambda r: r.update(points="many"),
        lambda r: r.update(points=1.5),
        lambda r: r.update(seed=None),
        lambda r: r.update(steps={}),
        lambda r: r.update(output=None),
        lambda r: r["steps"][0].update(name=""),
        lambda r: r["steps"][0].update(name="Load"),
        lambda r: r["steps"][0].update(name="sun rise"),
        lambda r: r["steps"][0].update(name="load\x1b[31m"),
        lambda r: r["steps"][0].update(name="<b>"),
        lambda r: r["steps"][0].update(name="a" * 41),
        lambda r: r["steps"][0].update(outcome="maybe"),
        lambda r: r["steps"][0].update(duration_s="long"),
        lambda r: r["steps"][2]["failure"].update(frames=[{"line": "x"}]),
        lambda r: r["steps"][2].update(failure="it is wrong"),
    ],
)
def test_a_broken_result_is_refused_by_schema_and_reader(edit: Callable[[dict[str, Any]], object]):
    text = edited(edit)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(json.loads(text))
    with pytest.raises(ValidationError):
        parse_result(text)


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "{", result_json(PASSED)[:-1]])
def test_a_record_that_is_not_a_result_is_refused(text: str):
    with pytest.raises(ValidationError):
        parse_result(text)


def test_unknown_fields_are_ignored_for_the_sake_of_older_readers():
    def add(record: dict[str, Any]) -> None:
        record["mood"] = "good"
        record["steps"][0]["colour"] = "red"

    text = edited(add)
    VALIDATOR.validate(json.loads(text))
    assert parse_result(text) == FULL


def test_a_step_that_no_reader_knows_is_read():
    text = edited(lambda r: r["steps"][0].update(name="sunrise"))
    VALIDATOR.validate(json.loads(text))
    assert parse_result(text).steps[0].name == "sunrise"


def test_steps_keep_the_order_in_which_they_ran():
    assert [step.name for step in parse_result(result_json(FULL)).steps] == [
        *("load", "correctness", "properties", "traffic", "memory", "speed"),
    ]
