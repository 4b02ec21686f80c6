"""A line between two processes: JSON, one message a line, capped. No pickle crosses it."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_LINE = 1 << 20  # bytes; a longer line is a broken or hostile peer
LONGEST_LAUNCH = 8 << 20  # the same of a line with a compiled kernel, from a worker to its device
CHUNK = 1 << 16  # bytes that are read at once


class WireError(Exception):
    """The peer sent something that is not a message."""


class Closed(WireError):
    """The peer is gone."""


class TimedOut(WireError):
    """No whole message came in time."""


class Channel:
    """One end of a socketpair that carries messages of at most `longest` bytes."""

    def __init__(self, sock: socket.socket, longest: int = LONGEST_LINE) -> None:
        self._sock = sock
        self._longest = longest
        self._buffer = bytearray()

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message. Raises Closed when the peer is gone."""
        try:
            self._sock.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Return the next message. Raises TimedOut, Closed, or WireError for anything else."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (message := self._next()) is None:
            self._buffer += self._chunk(deadline)
        return message

    def arrived(self, patience_s: float) -> Iterator[dict[str, Any]]:
        """Yield the messages that are there in full, after waiting for at most one part of one.

        Raises as `receive` does; nothing that arrives within `patience_s` is TimedOut.
        """
        self._buffer += self._chunk(time.monotonic() + patience_s)
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> dict[str, Any] | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > self._longest:
                raise WireError(f"a line longer than {self._longest} bytes")
            return None
        line, self._buffer = bytes(self._buffer[:end]), self._buffer[end + 1 :]
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WireError(f"a line that is not JSON: {error}") from None
        if not isinstance(message, dict):
            raise WireError("a line that is not a JSON object")
        return message

    def watch(self, limit_s: float) -> None:
        """Poll for a message, without sleeping, for at most `limit_s` seconds."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if self._buffer or select.select([self._sock], [], [], 0)[0]:
                return

    def _chunk(self, deadline: float | None) -> bytes:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimedOut
        self._sock.settimeout(left)
        try:
            chunk = self._sock.recv(CHUNK)
        except TimeoutError:
            raise TimedOut from None
        except OSError as error:
            raise Closed(str(error)) from None
        if not chunk:
            raise Closed("the other end was closed")
        return chunk

    def close(self) -> None:
        self._sock.close()
