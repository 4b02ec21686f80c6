"""The line between two processes: whatever the peer sends is a message or an error."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import channel as channel_module
from grader.model.channel import LONGEST_LINE, Channel, Closed, TimedOut, WireError


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
    waits, select = set(), channel_module.select.select
    monkeypatch.setattr(
        channel_module.select, "select", lambda *of, **_: waits.add(of[3]) or select(*of)
    )
    began = time.monotonic()
    channel.watch(0.2)
    assert time.monotonic() - began >= 0.2
    assert waits == {0}


@pytest.mark.slow
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
