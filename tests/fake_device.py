"""A device at the other end of a socketpair that records messages, and answers as it is set to."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.testing
from triton.compiler import code_generator
from triton.runtime import driver as active

from grader.backends.triton.device.process import Session
from grader.backends.triton.driver import compiler
from grader.backends.triton.driver.driver import activate, imitate_host
from grader.backends.triton.driver.launcher import Line
from grader.backends.triton.driver.scratch import Scratch
from grader.model import Channel, Closed

SCRATCH = 1 << 20  # bytes
ARENA = 1 << 16


class FakeDevice:
    """`launches` are the messages so far; `work` runs at each, on the scratch memory."""

    def __init__(self, channel: Channel, scratch: Path) -> None:
        self._channel = channel
        size = scratch.stat().st_size
        self.scratch = torch.from_file(str(scratch), shared=True, size=size, dtype=torch.uint8)
        self.messages: list[dict[str, Any]] = []
        self.fault: dict[str, str] | None = None
        self.work = lambda message: None

    @property
    def launches(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["op"] == "launch"]

    def serve(self) -> None:
        try:
            while True:
                message = self._channel.receive()
                self.messages.append(message)
                if (answer := self.answer(message)) is not None:
                    self._channel.send(answer)
        except Closed:
            return

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["op"] != "launch":
            return None
        return {"seq": message["seq"], "fault": self._worked(message)}

    def _worked(self, message: dict[str, Any]) -> dict[str, str] | None:
        try:
            self.work(message)
        except Exception as error:  # else the test would wait for an answer
            return {"kind": "test", "message": repr(error)}
        return self.fault


class RealDevice(FakeDevice):
    """The simulated GPU itself, in a thread of this process, for memory that is no argument's."""

    def __init__(self, channel: Channel, scratch: Path) -> None:
        super().__init__(channel, scratch)
        self._session = Session(np.empty(0, np.uint8), self.scratch.numpy())

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        return self._session.answer_worker(message)


@contextmanager
def simulated_gpu(
    folder: Path, kind: type[FakeDevice] = FakeDevice, size: int = SCRATCH
) -> Iterator[tuple[FakeDevice, Line, torch.Tensor]]:
    """Make such a device, with `size` bytes of scratch memory, the GPU of this process.

    Yields it, the line to it, and the arena.
    """
    ours, theirs = socket.socketpair()
    file = folder / "scratch"
    file.touch()
    os.truncate(file, size)
    device = kind(Channel(theirs), file)
    thread = threading.Thread(target=device.serve, daemon=True)
    thread.start()
    descriptor = os.open(file, os.O_RDWR)
    arena = torch.zeros(ARENA, dtype=torch.uint8)
    line = Line(Channel(ours), Scratch(descriptor, size))
    line.map(arena)
    try:
        with pytest.MonkeyPatch.context() as patch, triton.knobs.cache.scope():
            triton.knobs.cache.dir = str(folder / "cache")
            patch.setattr(triton.knobs.runtime, "interpret", False)
            patch.setitem(triton.backends.backends, "nvidia", triton.backends.backends["nvidia"])
            patch.setattr(active, "_active", None)
            patch.setattr(code_generator, "ast_to_ttir", code_generator.ast_to_ttir)
            patch.setattr(triton.runtime.cache, "triton_key", triton.runtime.cache.triton_key)
            for name in ("do_bench", "do_bench_cudagraph"):
                patch.setattr(triton.testing, name, getattr(triton.testing, name))
            compiler.install()
            activate(line)
            with imitate_host(line):
                yield device, line, arena
    finally:
        ours.close()
        thread.join()
        theirs.close()
        os.close(descriptor)
