"""The device's process: it carries out a worker's launches, and reports on calls to the judge."""

from __future__ import annotations

import mmap
import os
import select
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grader.backends.triton.device import preload as first_launch
from grader.backends.triton.device.calls import Call
from grader.backends.triton.device.launches import Device
from grader.backends.triton.device.requests import UnexpectedMessage, mapped, requested
from grader.machine import processes
from grader.model import Channel, Closed, DeviceReport, WireError, listed

MOST_TEXT = 6 << 20  # bytes of kernels in one report, of the 8 MiB that it may have
PATIENCE_S = 1.0  # for a worker to read an answer; our driver needs none
KEPT = 128 << 20  # bytes that no array uses

preload = first_launch.preload


def serve(judge: Channel, worker: Channel, arena: int, scratch: int) -> None:
    """Answer both until the judge hangs up; the files are those of the memory that they share."""
    torch.set_num_threads(1)
    processes.keep_freed_memory(KEPT)
    session = Session(_mapping(arena), _mapping(scratch))
    lines = [judge, worker]
    while True:
        ready, _, _ = select.select(lines, [], [])
        # The worker first: what it sent before the judge spoke comes before what the judge says.
        if worker in ready:
            try:
                for message in worker.arrived(PATIENCE_S):
                    answer = session.answer_worker(message)
                    if answer is not None:
                        worker.send(answer)
            except WireError as error:
                lines.remove(worker)
                if not isinstance(error, Closed):
                    session.distrust(str(error).partition(":")[0])
        if judge in ready:
            try:
                for message in judge.arrived(PATIENCE_S):
                    judge.send(session.answer_judge(message).dump())
            except Closed:
                return


def _mapping(fd: int) -> NDArray[np.uint8]:
    return np.frombuffer(mmap.mmap(fd, os.fstat(fd).st_size), np.uint8)


class Session:
    """The state between messages: the device, and the call that it is in, if it is in one."""

    def __init__(self, arena: NDArray[np.uint8], scratch: NDArray[np.uint8]) -> None:
        self._device = Device(arena, scratch)
        self._call: Call | None = None
        self._last = Call()

    def answer_judge(self, message: Mapping[str, Any]) -> DeviceReport:
        if message["op"] == "begin":
            self._call = Call.begun(message, self._device.start)
            self._device.effort.begin_call()
            return DeviceReport(seq=message["seq"])
        if message["op"] == "kernels":
            kernels, unlisted = listed(self._last.specialisations.values(), MOST_TEXT)
            return DeviceReport(seq=message["seq"], kernels=kernels, unlisted=unlisted)
        assert self._call is not None, "the judge ends a call that it began"
        report = self._call.report(message["seq"])
        self._last, self._call = self._call, None
        return report

    def answer_worker(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        # Outside of a call a file may launch kernels on its own memory, and nothing is recorded.
        call = Call() if self._call is None else self._call
        try:
            if message.get("op") == "map":
                self._device.map(mapped(message))
                return None
            request = requested(message)
            self._device.receive(request)
            call.attempt(lambda: self._device.launch(request, call))
        except UnexpectedMessage as error:
            call.distrust(str(error))
        printed, seq = self._device.printed.take(), message.get("seq")
        # Of another form it may nest deeper than JSON can be written.
        number = seq if type(seq) is int else None
        return {"seq": number, "fault": call.answer(), "printed": printed}

    def distrust(self, what: str) -> None:
        if self._call is not None:
            self._call.distrust(what)
