"""One call of a kernel file, as the device sees it: arguments, launches, and what came of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.backends.triton.device import faults, lane_rows
from grader.backends.triton.device.lane_log import LaneLog
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.requests import Requested
from grader.backends.triton.device.sightings import Recorder
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.traffic import Traffic
from grader.backends.triton.device.ttir.records import Site
from grader.backends.triton.device.values import DTYPES
from grader.model import DeviceReport, Fault, Specialisation
from grader.worker.bounds import Span
from grader.worker.races import runs_backwards

LONGEST_MESSAGE = 4000  # characters


@dataclass
class Call:
    """A call, or what the file does outside of one: then it has no arguments, and nothing counts.

    The first fault ends the call: a GPU that has met one carries out no further launch.
    """

    spans: tuple[Span, ...] = ()
    source: Source = field(default_factory=Source)
    backwards: bool = False
    withhold: bool = False
    traffic: Traffic | None = None
    provenance: Provenance | None = None
    recorder: Recorder | None = None
    specialisations: dict[Hashable, Specialisation] = field(default_factory=dict)
    launches: int = 0
    held: int = 0
    log: LaneLog | None = None
    places: tuple[lane_rows.Place, ...] = ()  # of the arguments
    fault: Fault | None = None
    not_simulated: str | None = None
    after_end: bool = False  # whether the last launch came after the end of the call

    @classmethod
    def begun(cls, message: Mapping[str, Any], arena: int) -> Call:
        """Begin a call; the worker has mapped the arena at this address."""
        spans = [_span(ref, arena) for ref in message["refs"]]
        source = Source(message["file"], message["source"].splitlines())
        traffic = Traffic(spans) if message["count"] else None
        return cls(
            spans=tuple(span for span, _ in spans),
            source=source,
            backwards=runs_backwards(
                (ref["shape"] for ref in message["refs"]), bool(message.get("other_order"))
            ),
            withhold=message["withhold"],
            traffic=traffic,
            provenance=Provenance([span for span, _ in spans]),
            log=LaneLog() if message.get("trace") else None,
            places=tuple(
                lane_rows.argument(ref, span, size)
                for ref, (span, size) in zip(message["refs"], spans, strict=True)
            ),
            recorder=Recorder(spans, source) if message.get("record") else None,
        )

    def attempt(self, launch: Callable[[], None]) -> None:
        """Carry out a launch, and record the first thing that goes wrong in the call."""
        self.after_end = self.ended
        if self.after_end:
            return
        try:
            launch()
        except (faults.NotSimulated, faults.Malformed) as error:
            # Text that we cannot read is Triton's, as far as we know: then the fault is ours.
            self.not_simulated = f"{_cut(error.message)}{self._at(error.site)}"
        except faults.Fault as error:
            self.fault = Fault(error.kind, _cut(error.message), self._frames(error.site))
        except Exception as error:
            # A kernel may be hostile, and no text that it sends may end the device.
            self.not_simulated = (
                "a launch needs more memory than the simulated GPU has"
                if faults.is_out_of_memory(error)
                else _cut(f"the simulated GPU failed ({type(error).__name__}: {error})")
            )

    def began(self, request: Requested) -> None:
        """Note a launch that has an effect, or would have one."""
        self.launches += 1
        self.held = max(self.held, sum(storage.size for storage in request.storages))
        if self.traffic is not None:
            self.traffic.begin(math.prod(request.grid))
        if self.recorder is not None:
            self.recorder.begin(request.kernel, request.grid, request.warps)

    @property
    def ended(self) -> bool:
        return self.fault is not None or self.not_simulated is not None

    def distrust(self, what: str) -> None:
        """End the call, because the worker's messages are none that our driver sends."""
        if not self.ended:
            self.fault = Fault("protocol", what)

    def answer(self) -> dict[str, str] | None:
        """Return the error that the worker raises, if the call has ended with one.

        A later launch is not to blame: it gets an error of another kind.
        """
        if self.fault is not None and self.after_end:
            message = f"an earlier launch failed: {self.fault.message}"
            return {"kind": "earlier_launch", "message": message}
        if self.fault is not None:
            return {"kind": self.fault.kind, "message": self.fault.message}
        if self.not_simulated is not None:
            return {"kind": "not_simulated", "message": self.not_simulated}
        return None

    def report(self, seq: int) -> DeviceReport:
        return DeviceReport(
            seq=seq,
            fault=self.fault,
            counts=self._counts(),
            launches=self.launches,
            held=self.held,
            not_simulated=self.not_simulated,
            origins=() if self.provenance is None else self.provenance.origins(self.source),
            lanes=None
            if self.log is None
            else lane_rows.traced(self.log, self.places, self.source),
            sightings=None if self.recorder is None else self.recorder.sightings(),
        )

    def _counts(self) -> dict[str, int]:
        return {} if self.traffic is None else self.traffic.facts(self.source.line_of)

    def _frames(self, site: Site | None) -> tuple[tuple[int, str, str], ...]:
        """Return the places in the kernel file, outermost first, as the judge takes them."""
        places: Sequence[Site] = () if site is None else (*reversed(site.callers), site)
        return tuple((each.line, "", "") for each in filter(self.source.holds, places))

    def _at(self, site: Site | None) -> str:
        line = 0 if site is None else self.source.line_of(site)
        return f" (line {line})" if line else ""


def _span(ref: Mapping[str, Any], arena: int) -> tuple[Span, int]:
    """Return the memory of a `TensorRef`, and the size of its elements in bytes."""
    size = _ITEMSIZE[ref["dtype"]]
    start = arena + ref["offset"]
    return Span.of(ref["name"], start, ref["shape"], ref["strides"], size), size


_ITEMSIZE = {str(dtype).removeprefix("torch."): dtype.itemsize for dtype in DTYPES.values()}
_ITEMSIZE |= {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}


def _cut(message: str) -> str:
    """Cut a message that quotes what a kernel says, to what the judge shows of it."""
    return message[:LONGEST_MESSAGE]
