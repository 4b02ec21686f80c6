"""What is asked of a judge crosses to it whole, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import Exercise
from grader.grading import requests
from grader.grading.options import Options
from grader.grading.requests import Request
from grader.model.cases import Case
from grader.model.errors import GraderError

ALL_SET = Options(
    seed=7,
    device="cuda",
    case=Case((2, 3), "float16", seed=5),
    require_speed=True,
    leave_out=("speed",),
    shrink=False,
    pretend="zeros",
    gpu_memory=1 << 30,
    sanitize=True,
    hardened=True,
    picture=True,
    targets=(75, 100),
    elsewhere=False,
    debug=True,
)
ENTRY = Exercise(Path("/course/exercises/01"), "backward")
REQUEST = Request(ENTRY, Path("/k.py"), ALL_SET, "trace")


def test_a_request_crosses_whole():
    plain = replace(REQUEST, exercise=Exercise(ENTRY.folder), options=Options(), task="grade")
    for request in (REQUEST, plain, replace(plain, task="prepare")):
        assert requests.read(requests.write(request, "7f")) == ("7f", request)


def test_every_option_was_sent_with_another_value_than_its_default():
    """Or the test above would not see one that gets lost."""
    default = Options()
    assert [f.name for f in fields(Options)] == [
        f.name for f in fields(Options) if getattr(ALL_SET, f.name) != getattr(default, f.name)
    ]


def spoilt(**values: object) -> bytes:
    return json.dumps(json.loads(requests.write(REQUEST, "7f")) | values).encode() + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        spoilt(kind="guess"),
        spoilt(more=1),
        spoilt(entry=1),
        spoilt(tag=1),
        requests.write(REQUEST, "7f").rstrip(),  # cut off, or too long
        spoilt(options={"case": None}),
        spoilt(options=requests.as_json(ALL_SET) | {"speedup": 9}),
        spoilt(options=requests.as_json(ALL_SET) | {"case": "nonsense"}),
    ],
)
def test_what_is_no_request_is_refused(line: bytes, snapshot: SnapshotAssertion):
    with pytest.raises(GraderError) as caught:
        requests.read(line)
    assert text_of(caught.value) == snapshot


def test_seeds_are_drawn_anew():
    assert len({Options().seed for _ in range(20)}) > 1
