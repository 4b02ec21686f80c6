"""The device's process: it answers the judge about calls, and carries out a worker's launches."""

from __future__ import annotations

import json
import mmap
import os
import select
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grader.backends.triton.device import preload as first_launch
from grader.backends.triton.device.calls import Call
from grader.backends.triton.device.launches import Device
from grader.backends.triton.device.requests import Misspoken, mapped, requested
from grader.model import (
    MOST_SPECIALISATIONS,
    Channel,
    Closed,
    DeviceReport,
    Specialisation,
    WireError,
)

MOST_TEXT = 6 << 20  # bytes of kernels in one report, of the 8 MiB that it may have
PATIENCE_S = 1.0  # for a worker to read an answer; our driver needs none

preload = first_launch.preload


def serve(judge: Channel, worker: Channel, arena: int, scratch: int) -> None:
    """Answer both until the judge hangs up; the files are those of the memory that they share."""
    torch.set_num_threads(1)
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


def _listed(seq: int, kernels: Collection[Specialisation]) -> DeviceReport:
    """List kernels, as many as one message may hold; those of benchmarks come last."""
    chosen: list[Specialisation] = []
    left = MOST_TEXT
    for kernel in sorted(kernels, key=lambda each: each.trial):
        left -= len(json.dumps(kernel.text))
        if left < 0 or len(chosen) == MOST_SPECIALISATIONS:
            break
        chosen.append(kernel)
    launched = sum(not each.trial for each in kernels) - sum(not each.trial for each in chosen)
    names = {each.kernel for each in kernels} - {each.kernel for each in chosen}
    return DeviceReport(seq=seq, kernels=tuple(chosen), unlisted=max(launched, len(names)))


class Session:
    """The state between messages: the device, and the call that it is in, if it is in one."""

    def __init__(self, arena: NDArray[np.uint8], scratch: NDArray[np.uint8]) -> None:
        self._device = Device(arena, scratch)
        self._call: Call | None = None
        self._last = Call()

    def answer_judge(self, message: Mapping[str, Any]) -> DeviceReport:
        if message["op"] == "begin":
            self._call = Call.begun(message, self._device.start)
            return DeviceReport(seq=message["seq"])
        if message["op"] == "kernels":
            return _listed(message["seq"], self._last.specialisations.values())
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
        except Misspoken as error:
            call.distrust(str(error))
        printed, seq = self._device.printed.take(), message.get("seq")
        # Of another form it may nest deeper than JSON can be written.
        number = seq if type(seq) is int else None
        return {"seq": number, "fault": call.answer(), "printed": printed}

    def distrust(self, what: str) -> None:
        if self._call is not None:
            self._call.distrust(what)
