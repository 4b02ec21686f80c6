"""The record of a call's launches: its memory, its limits, and the reply that carries it."""

from __future__ import annotations

import json

import pytest
import torch

from grader.model.messages import Reply
from grader.model.recording import MOST_CODE, MOST_RECORDED, RecordedLaunch, Recording
from grader.worker import recorder
from grader.worker.recorder import NotRecorded, Recorder

LAUNCH = RecordedLaunch("k", 0, (3, 1, 1), 128, 512, (("arena", 8), ("fp32", 0.5), ("i32", -1)))
RECORDING = Recording((LAUNCH,), ("aGFsbG8=",), 1024)


def test_a_recording_survives_the_wire():
    reply = Reply(seq=7, recording=RECORDING)
    assert Reply.parse(json.loads(json.dumps(reply.dump()))) == reply


def note(record: Recorder, code: bytes = b"code") -> None:
    record.note("k", code, (1, 1, 1), 128, 0, [])


def test_each_storage_has_a_place_of_its_own():
    record = Recorder(range(0))
    one, two = torch.zeros(3), torch.zeros(200)
    assert record.pointer(one.data_ptr() + 4, one.untyped_storage()) == ("scratch", 4)
    assert record.pointer(two.data_ptr(), two.untyped_storage()) == ("scratch", 512)
    assert record.pointer(one[2:].data_ptr(), one[2:].untyped_storage()) == ("scratch", 8)
    assert record.recording().scratch == 512 + 1024


def test_a_new_tensor_is_not_taken_for_one_that_was_freed():
    record = Recorder(range(0))
    places = set()
    for _ in range(5):
        tensor = torch.zeros(1000)
        places.add(record.pointer(tensor.data_ptr(), tensor.untyped_storage()))
        del tensor
    assert len(places) == 5


def test_one_refusal_drops_all_launches():
    record = Recorder(range(0))
    note(record)
    record.refuse("first")
    record.refuse("second")
    assert record.recording() == Recording(refused="first")


def test_a_call_of_too_many_launches_is_refused():
    record = Recorder(range(0))
    for _ in range(MOST_RECORDED):
        note(record)
    with pytest.raises(NotRecorded, match="more than 64 kernels"):
        note(record)


@pytest.mark.parametrize("code", [b"one more", b"x" * (1 << 20)])
def test_code_that_no_message_holds_is_refused(code: bytes):
    record = Recorder(range(0))
    for number in range(MOST_CODE):
        note(record, b"%d" % number)
    with pytest.raises(NotRecorded, match="too long for a message"):
        note(record, code)


def test_code_is_sent_once():
    record = Recorder(range(0))
    note(record)
    note(record)
    assert len(record.recording().code) == 1
    assert recorder.LONGEST_CODE < 1 << 20
