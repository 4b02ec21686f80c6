"""The lines that cross the wall: whatever a worker sends, the judge gets a message or an error."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import messages
from grader.model.messages import (
    LONGEST_LINE,
    MOST_FRAMES,
    BuildOptions,
    Channel,
    Closed,
    DeviceReport,
    Fault,
    Origin,
    Reply,
    Specialisation,
    TimedOut,
    WireError,
    listed,
)
from grader.model.texts import LONGEST_TEXT, printable


@pytest.fixture
def ends():
    """The judge's channel, and the worker's raw socket."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


Ends = tuple[Channel, socket.socket]


def test_a_message_arrives_as_it_was_sent(ends: Ends):
    channel, theirs = ends
    message = {"op": "call", "seq": 3, "calls": [[1.5, {"name": "x"}]], "text": "zwölf\n"}
    Channel(theirs).send(message)
    assert channel.receive(5) == message


def test_parts_of_a_line_are_put_together(ends: Ends):
    channel, theirs = ends
    for part in (b'{"se', b'q":', b" 1", b"}\n"):
        theirs.sendall(part)
        if not part.endswith(b"\n"):
            with pytest.raises(TimedOut):
                channel.receive(0.01)
    assert channel.receive(5) == {"seq": 1}


def test_several_messages_in_one_chunk_come_one_by_one(ends: Ends):
    channel, theirs = ends
    theirs.sendall(b'{"seq":1}\n{"seq":2}\n{"seq":')
    assert channel.receive(5) == {"seq": 1}
    assert channel.receive(5) == {"seq": 2}
    theirs.sendall(b"3}\n")
    assert channel.receive(5) == {"seq": 3}


def test_a_long_line_is_read_while_it_is_short_enough(ends: Ends):
    channel, theirs = ends
    text = "x" * (LONGEST_LINE - 100)
    sender = threading.Thread(target=Channel(theirs).send, args=({"text": text},))
    sender.start()
    assert channel.receive(20) == {"text": text}
    sender.join()


@pytest.mark.parametrize("end", [b"", b'"}\n'], ids=["endless", "ended"])
def test_a_line_too_long_is_refused(ends: Ends, end: bytes):
    channel, theirs = ends

    def flood() -> None:
        with suppress(OSError):  # the judge hangs up
            theirs.sendall(b'{"text":"' + b"x" * (LONGEST_LINE + (1 << 17)) + end)

    sender = threading.Thread(target=flood)
    sender.start()
    with pytest.raises(WireError, match="a line longer than 1048576 bytes"):
        channel.receive(20)
    channel.close()
    sender.join()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"{",
        b"[1, 2]",
        b"3",
        b"null",
        b'"text"',
        b"\xff\xfe{}",
        b'{"seq": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"\x80\x04K\x01.",  # a pickle
    ],
    ids=lambda line: repr(line[:12]),
)
def test_a_line_that_is_not_a_message_is_refused(ends: Ends, line: bytes):
    channel, theirs = ends
    sender = threading.Thread(target=theirs.sendall, args=(line + b"\n",))
    sender.start()
    with pytest.raises(WireError):
        channel.receive(20)
    sender.join()


def test_a_line_after_a_bad_one_is_still_read(ends: Ends):
    channel, theirs = ends
    theirs.sendall(b'hello\n{"seq":1}\n')
    with pytest.raises(WireError):
        channel.receive(5)
    assert channel.receive(5) == {"seq": 1}


def test_a_closed_peer(ends: Ends):
    channel, theirs = ends
    theirs.sendall(b'{"seq":1}\n{"half":')
    theirs.close()
    assert channel.receive(5) == {"seq": 1}
    with pytest.raises(Closed):
        channel.receive(5)
    with pytest.raises(Closed):
        channel.send({"seq": 2})


def test_nothing_in_time_and_a_line_that_trickles_in(ends: Ends):
    channel, theirs = ends
    with pytest.raises(TimedOut):
        channel.receive(0.01)

    def trickle() -> None:
        with suppress(OSError):  # the judge hangs up
            for _ in range(200):
                theirs.sendall(b" ")
                time.sleep(0.005)
        theirs.close()

    sender = threading.Thread(target=trickle)
    sender.start()
    with pytest.raises(TimedOut):  # the limit is for the whole message, not for a byte
        channel.receive(0.1)
    channel.close()
    sender.join()


def test_a_message_that_is_there_needs_no_time(ends: Ends):
    channel, theirs = ends
    theirs.sendall(b'{"seq":1}\n{"seq":2}\n')
    channel.receive(5)
    assert channel.receive(0) == {"seq": 2}


def test_watch_returns_at_once_when_a_message_is_there(ends: Ends):
    channel, theirs = ends
    began = time.monotonic()
    theirs.sendall(b'{"seq":1}\n{"seq":2}\n')
    channel.watch(60)  # not received yet
    channel.receive(5)
    channel.watch(60)  # received with the one before
    assert time.monotonic() - began < 30
    assert channel.receive(0) == {"seq": 2}


def test_watch_does_not_sleep_and_ends_in_time(ends: Ends, monkeypatch: pytest.MonkeyPatch):
    channel, _ = ends
    waits, select = set(), messages.select.select
    monkeypatch.setattr(messages.select, "select", lambda *of, **_: waits.add(of[3]) or select(*of))
    began = time.monotonic()
    channel.watch(0.2)
    assert time.monotonic() - began >= 0.2
    assert waits == {0}


@settings(max_examples=300)
@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from([b"\n", b'{"seq":1}\n', b'{"a":[', b"]}\n", b"\xff", b"1e999\n"]),
        max_size=12,
    )
)
def test_any_bytes_are_a_message_or_an_error(chunks: list[bytes]):
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with theirs:
        for chunk in chunks:
            theirs.sendall(chunk)
    lines = b"".join(chunks).count(b"\n")
    for _ in range(lines):
        try:
            assert isinstance(channel.receive(5), dict)
        except Closed:
            raise AssertionError("a whole line was lost") from None
        except WireError:
            pass
    with pytest.raises(Closed):
        channel.receive(5)
    channel.close()


# -- replies


def test_a_reply_survives_the_wire(ends: Ends):
    channel, theirs = ends
    reply = Reply(
        seq=7,
        fault=Fault("exception", "boom", ((3, "softmax", "x / 0"), (9, "helper", "raise"))),
    )
    Channel(theirs).send(reply.dump())
    assert Reply.parse(channel.receive(5)) == reply


def test_a_reply_needs_only_its_number_and_ignores_unknown_fields():
    assert Reply.parse({"seq": 1}) == Reply(seq=1)
    assert Reply.parse({"seq": 1, "fault": None, "more": [1]}) == Reply(seq=1)


FAULT = {"kind": "exception", "message": "boom"}


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"seq": None},
        {"seq": "1"},
        {"seq": 1.0},
        {"seq": True},
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


KERNELS = (Specialisation("add", "module {}\n", BuildOptions(num_warps=8, maxnreg=64)),)


@pytest.mark.parametrize(
    "report", [DeviceReport(3, kernels=KERNELS, unlisted=2), Reply(3, kernels=KERNELS, unlisted=2)]
)
def test_launched_kernels_cross_whole(report: DeviceReport | Reply):
    assert type(report).parse(json.loads(json.dumps(report.dump()))) == report


def test_as_many_kernels_are_sent_as_a_message_holds():
    one, many = KERNELS[0], KERNELS * (messages.MOST_SPECIALISATIONS + 1)
    large = replace(one, text="\n" * 50)  # in JSON 102 bytes
    assert listed([large, large, one], 250) == ((large, large, one), 0)
    assert listed([large, large, one], 203) == ((large,), 2)
    assert listed([replace(large, trial=True), one], 50) == ((one,), 0)
    assert listed(many, 1 << 20) == (many[:-1], 1)


@pytest.mark.parametrize(
    "options",
    [
        {"num_warps": 64},
        {"num_ctas": -1},
        {"num_stages": "3"},
        {"maxnreg": 2.0},
        {"maxnreg": True},
        {"shared": -1},
    ],
)
def test_options_of_another_form_are_no_report(options: dict[str, object]):
    message = json.loads(json.dumps(DeviceReport(seq=3, kernels=KERNELS).dump()))
    DeviceReport.parse(message)
    message["kernels"][0]["options"] |= options
    with pytest.raises(WireError):
        DeviceReport.parse(message)


def test_nobody_lists_more_kernels_than_it_may():
    many = KERNELS * (messages.MOST_SPECIALISATIONS + 1)
    for report in (DeviceReport(3, kernels=many), Reply(3, kernels=many)):
        with pytest.raises(WireError):
            type(report).parse(json.loads(json.dumps(report.dump())))


ORIGINS = (Origin("out", 31, "x"), Origin("", 12, "ticket", "tickets_ptr", 3))


def test_the_origins_of_undefined_values_cross_whole():
    report = DeviceReport(seq=3, origins=ORIGINS)
    assert DeviceReport.parse(json.loads(json.dumps(report.dump()))) == report
    many = DeviceReport(seq=3, origins=ORIGINS * messages.MOST_ORIGINS)
    parsed = DeviceReport.parse(json.loads(json.dumps(many.dump())))
    assert len(parsed.origins) == messages.MOST_ORIGINS


@pytest.mark.parametrize("field", [{"line": -1}, {"line": "3"}, {"element": 2**64}, {"name": 3}])
def test_origins_of_another_form_are_no_report(field: dict[str, object]):
    message = json.loads(json.dumps(DeviceReport(seq=3, origins=ORIGINS).dump()))
    message["origins"][1] |= field
    with pytest.raises(WireError):
        DeviceReport.parse(message)


def test_the_names_in_origins_are_cleaned():
    report = DeviceReport(seq=3, origins=(Origin("out", 1, "x\n\x1b[2J"),))
    [origin] = DeviceReport.parse(json.loads(json.dumps(report.dump()))).origins
    assert "\n" not in origin.name
    assert "\x1b" not in origin.name
