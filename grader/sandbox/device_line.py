"""The judge's line to the simulated device beside a worker: what it saw of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.model import Channel, DeviceReport, TensorRef, WireError

LONGEST_SOURCE = 100_000  # characters of a kernel file that a device quotes from


class DeviceLine:
    """Asks a device about one call after the other.

    `roles` maps each argument's name to its role. `file` is the path of the kernel file, which the
    device cannot read, and `source` its text. Every method raises TimedOut, Closed or WireError.
    """

    def __init__(self, channel: Channel, roles: Mapping[str, str], file: str, source: str) -> None:
        self._channel = channel
        self._always = {"roles": dict(roles), "file": file, "source": source[:LONGEST_SOURCE]}
        self._sequence = 0

    def begin(
        self,
        call: Sequence[TensorRef | float],
        limit_s: float,
        *,
        count: bool = False,
        withhold: bool = False,
        trace: bool = False,
        record: bool = False,
        other_order: bool = False,
    ) -> None:
        """Name the arguments of a call that the worker is about to make.

        With `count` the device counts what the call does, with `trace` it records each access of
        each lane, with `record` which line accesses which elements. With `withhold` launches have
        no effect. With `other_order` programs run in the reverse of the order that follows from
        the shapes.
        """
        self._ask(
            "begin",
            limit_s,
            refs=[vars(argument) for argument in call if isinstance(argument, TensorRef)],
            count=count,
            withhold=withhold,
            trace=trace,
            record=record,
            other_order=other_order,
            **self._always,
        )

    def end(self, limit_s: float) -> DeviceReport:
        """Forbid further launches, and return what the device saw of the call."""
        return self._ask("end", limit_s)

    def kernels(self, limit_s: float) -> DeviceReport:
        """Return a report that lists the distinct kernels of the last call."""
        return self._ask("kernels", limit_s)

    def _ask(self, operation: str, limit_s: float, **message: object) -> DeviceReport:
        self._sequence += 1
        self._channel.send({"op": operation, "seq": self._sequence, **message})
        report = DeviceReport.parse(self._channel.receive(limit_s))
        if report.seq != self._sequence:
            raise WireError("an answer to another message")
        return report
