"""A simulated device's report of one call, and how the judge reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from grader.model import wire
from grader.model.channel import WireError
from grader.model.faults import Fault, read_fault
from grader.model.sightings import Sightings, read_sightings
from grader.model.specialisations import Specialisation, read_specialisations
from grader.model.traced_lanes import TracedLanes, read_traced_lanes

MOST_ORIGINS = 16  # of undefined values, in one report
COMBINED = ("", "sum", "product", "maximum", "minimum")


@dataclass(frozen=True)
class Origin:
    """A load of undefined values, and the output that they reached.

    `output` is empty where a value could not be followed, `line` 0 where the load is in no line of
    the kernel file. `name` is the variable that got the value, if the line assigns one. `array` and
    `element` are the place in memory that nothing had written; an empty `array` means lanes that
    the load masks off. `joined` is the line that first combined the value with others, 0 if no line
    did so, and `combined` is one of COMBINED: how that line combined them.
    """

    output: str
    line: int
    name: str = ""
    array: str = ""
    element: int = 0
    joined: int = 0
    combined: str = ""


@dataclass(frozen=True)
class DeviceReport:
    """A simulated device's reply to the message numbered `seq`: its view of one call.

    `fault` ended the call, whatever the kernel file made of it; its frames hold no source lines.
    `counts` are those of `Reply`, made outside of the learner's process. `launches` were asked for,
    with effect or without. `held` is the most bytes beside the arena that one launch was given.
    `not_simulated` names the part of the kernel that the device lacks. `kernels` are those that
    the last call launched, where the judge asked for them. `unlisted` of these are not among them,
    because a report has no room for more. `origins` are those of undefined values that the call
    used; they are material for hints, and decide nothing. `lanes` are there where the judge asked
    for them, for pictures, and so are `sightings`, for hints.
    """

    seq: int
    fault: Fault | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    launches: int = 0
    held: int = 0
    not_simulated: str | None = None
    kernels: tuple[Specialisation, ...] = ()
    unlisted: int = 0
    origins: tuple[Origin, ...] = ()
    lanes: TracedLanes | None = None
    sightings: Sightings | None = None

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, message: Mapping[str, Any]) -> DeviceReport:
        """Build a report from a message. Raises WireError when the message has another form.

        The device is ours, but it reads what a worker sends: its words are not believed either.
        """
        try:
            fault, lacks = message.get("fault"), message.get("not_simulated")
            lanes, seen = message.get("lanes"), message.get("sightings")
            return cls(
                seq=wire.integer(message["seq"]),
                fault=None if fault is None else read_fault(fault),
                counts=wire.counts(message.get("counts", {})),
                launches=wire.total(message.get("launches", 0)),
                held=wire.total(message.get("held", 0)),
                not_simulated=None if lacks is None else wire.text(lacks),
                kernels=read_specialisations(message.get("kernels", [])),
                unlisted=wire.total(message.get("unlisted", 0)),
                origins=tuple(map(_origin, list(message.get("origins", ()))[:MOST_ORIGINS])),
                lanes=None if lanes is None else read_traced_lanes(lanes),
                sightings=None if seen is None else read_sightings(seen),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WireError(f"a report of another form: {error}") from None


def _origin(value: Mapping[str, Any]) -> Origin:
    return Origin(
        output=wire.text(value["output"]),
        line=wire.count(value["line"]),
        name=wire.text(value["name"]),
        array=wire.text(value["array"]),
        element=wire.total(value["element"]),
        joined=wire.count(value["joined"]),
        combined=wire.one_of(COMBINED, value["combined"]),
    )
