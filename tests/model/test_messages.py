"""The messages of workers: whatever they send, the judge gets a record or an error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model.channel import WireError
from grader.model.faults import MOST_FRAMES, Fault
from grader.model.messages import Reply
from grader.model.texts import LONGEST_TEXT, printable


def test_a_reply_survives_the_wire():
    reply = Reply(
        seq=7,
        fault=Fault("exception", "boom", ((3, "softmax", "x / 0"), (9, "helper", "raise"))),
    )
    assert Reply.parse(json.loads(json.dumps(reply.dump()))) == reply


def test_a_reply_needs_only_its_number_and_ignores_unknown_fields():
    assert Reply.parse({"seq": 1}) == Reply(seq=1)
    assert Reply.parse({"seq": 1, "fault": None, "more": [1]}) == Reply(seq=1)


FAULT = {"kind": "exception", "message": "boom"}
LAUNCH = {
    "kernel": "k",
    "code": 0,
    "grid": [1, 1, 1],
    "threads": 32,
    "shared": 0,
    "parameters": [["i32", 1]],
}
RECORDING = {"launches": [LAUNCH], "code": ["aGk="], "scratch": 0, "refused": ""}


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"seq": None},
        {"seq": "1"},
        {"seq": 1.0},
        {"seq": True},
        {"seq": 1, "recording": {}},
        {"seq": 1, "recording": RECORDING | {"code": ["not base64"]}},
        {"seq": 1, "recording": RECORDING | {"code": [3]}},
        {"seq": 1, "recording": RECORDING | {"code": ["aGk="] * 17}},
        {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH] * 65}},
        {"seq": 1, "recording": RECORDING | {"scratch": -1}},
        {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH | {"code": 1}]}},
        {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH | {"grid": [0, 1, 1]}]}},
        {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH | {"threads": "32"}]}},
        {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH | {"kernel": 'k","1","7'}]}},
        *(
            {"seq": 1, "recording": RECORDING | {"launches": [LAUNCH | {"parameters": wrong}]}}
            for wrong in ([["i32", 1.0]], [["fp32", 1]], [["f16", 1]], [[[], 1]], [["i32"]], [3])
        ),
        {"seq": 1, "fault": "boom"},
        {"seq": 1, "fault": []},
        {"seq": 1, "fault": {}},
        {"seq": 1, "fault": {"kind": "exception"}},
        {"seq": 1, "fault": {"kind": 3, "message": "boom"}},
        {"seq": 1, "fault": {"kind": "exception", "message": None}},
        {"seq": 1, "fault": FAULT | {"frames": None}},
        {"seq": 1, "fault": FAULT | {"frames": 3}},
        {"seq": 1, "fault": FAULT | {"frames": ["abcd"]}},
        {"seq": 1, "fault": FAULT | {"frames": [[1, "f"]]}},
        {"seq": 1, "fault": FAULT | {"frames": [["1", "f", "code"]]}},
        {"seq": 1, "fault": FAULT | {"frames": [[1, 2, "code"]]}},
        {"seq": 1, "fault": FAULT | {"frames": [[1, "f", None]]}},
        {"seq": 1, "counts": {"reads.x": -1}},
        {"seq": 1, "counts": {"reads.x": 2**63}},
        {"seq": 1, "peak": -1},
        {"seq": 1, "peak": 2**63},
    ],
    ids=str,
)
def test_a_reply_of_another_form_is_refused(message: dict[str, object]):
    with pytest.raises(WireError, match="a reply of another form"):
        Reply.parse(message)


@pytest.mark.parametrize("held", [3, [], {"points": [[0, -1]]}, {"points": [[0, 0]] * 300}])
def test_a_reply_with_a_series_of_another_form_is_a_reply(held: object):
    """It is drawn, and decides nothing."""
    reply = Reply.parse({"seq": 1, "peak": 0, "held": held})
    assert reply.held is not None
    assert reply.held.points == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
REPLIES = st.fixed_dictionaries(
    {"seq": st.integers() | JSON},
    optional={
        "fault": JSON
        | st.fixed_dictionaries(
            {"kind": st.text() | JSON, "message": st.text() | JSON},
            optional={"frames": st.lists(st.lists(JSON, max_size=4)) | JSON},
        ),
    },
)


@pytest.mark.slow
@settings(max_examples=150)
@given(REPLIES)
def test_any_json_is_a_reply_or_an_error(message: dict[str, object]):
    try:
        reply = Reply.parse(json.loads(json.dumps(message)))
    except WireError:
        return
    assert type(reply.seq) is int
    if reply.fault is not None:
        texts = [reply.fault.kind, reply.fault.message]
        texts += [text for _, *more in reply.fault.frames for text in more]
        assert all(text == printable(text) for text in texts)


def test_a_deep_stack_is_cut_to_its_innermost_frames():
    frames = [[line, "f", "code"] for line in range(1000)]
    fault = Reply.parse({"seq": 1, "fault": FAULT | {"frames": frames}}).fault
    assert fault is not None
    assert [line for line, _, _ in fault.frames] == list(range(1000 - MOST_FRAMES, 1000))


def test_names_are_one_line_and_further_lines_of_a_message_begin_with_a_bar():
    fault = FAULT | {"message": "one\nPASS", "frames": [[1, "f\nPASS", "x = 1\nPASS"]]}
    read = Reply.parse({"seq": 1, "fault": fault}).fault
    assert read is not None
    assert read.message == "one\n| PASS"
    assert read.frames == ((1, "f PASS", "x = 1 PASS"),)


def test_texts_of_a_reply_are_cut_and_cleaned():
    fault = Reply.parse({"seq": 1, "fault": FAULT | {"message": "\x1b[2J" + "x" * 10**5}}).fault
    assert fault is not None
    assert fault.message.startswith("\ufffd[2Jxxx")
    assert len(fault.message) < LONGEST_TEXT + 20
