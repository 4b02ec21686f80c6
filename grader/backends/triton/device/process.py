"""The device's process: it answers the judge about calls, and carries out a worker's launches."""

from __future__ import annotations

import select
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.model import Channel, Closed, DeviceReport, Fault, WireError

PATIENCE_S = 1.0  # for a worker to read an answer; a launch needs none


def serve(judge: Channel, worker: Channel, arena: int, scratch: int) -> None:
    """Answer both until the judge hangs up; the files are those of the memory that they share."""
    device = Device(arena, scratch)
    lines = [judge, worker]
    while True:
        ready, _, _ = select.select(lines, [], [])
        if judge in ready:
            try:
                for message in judge.arrived(PATIENCE_S):
                    judge.send(device.answer_judge(message).dump())
            except Closed:
                return
        elif worker in ready:
            try:
                for message in worker.arrived(PATIENCE_S):
                    worker.send(device.answer_worker(message))
            except WireError as error:
                lines.remove(worker)
                if not isinstance(error, Closed):
                    device.distrust(str(error).partition(":")[0])


@dataclass
class _Call:
    """One call of the kernel file, and what came of it."""

    begun: Mapping[str, Any]
    fault: Fault | None = None
    launches: int = 0
    not_simulated: str | None = None


class Device:
    """The state between messages; outside of calls no argument may be touched."""

    def __init__(self, arena: int, scratch: int) -> None:
        self._call: _Call | None = None

    def answer_judge(self, message: Mapping[str, Any]) -> DeviceReport:
        report = DeviceReport(seq=message["seq"])
        if message["op"] == "begin":
            self._call = _Call(message)
            return report
        call, self._call = self._call, None
        assert call is not None, "the judge ends a call that it began"
        return DeviceReport(
            seq=message["seq"],
            fault=call.fault,
            launches=call.launches,
            not_simulated=call.not_simulated,
        )

    def answer_worker(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._call is not None:
            self._call.launches += 1
            self._call.not_simulated = "a launch"
        return {"seq": message.get("seq"), "fault": None}

    def distrust(self, what: str) -> None:
        """Fail the call, because its worker sent something that is no message."""
        if self._call is not None and self._call.fault is None:
            message = f"the kernel broke the connection from its process to the device: {what}"
            self._call.fault = Fault("protocol", message)
