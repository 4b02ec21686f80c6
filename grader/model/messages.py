"""The messages between judge and worker, and how the judge reads a worker's.

It believes nothing that comes from a worker: `Reply.parse` accepts only known fields of the known
types and cuts every text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from grader.model import wire
from grader.model.channel import WireError
from grader.model.faults import Fault, read_fault
from grader.model.held_series import HeldSeries, read_held_series
from grader.model.recording import Recording, read_recording
from grader.model.specialisations import Specialisation, read_specialisations
from grader.model.traced import Traced, read_traced

MOST_TIMES = 1024  # calls in one message
MOST_KERNELS = 8  # different kernels that one call launches


@dataclass(frozen=True)
class TensorRef:
    """A tensor in the arena: byte offset of its first element, extents and strides in elements."""

    name: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Launched:
    """One kernel that a call launched: its compiled form, and the form of its launch.

    Registers and spills (bytes) are per thread, shared memory (bytes) and threads per block.
    `spills` is None where they cannot be separated from other memory of a thread.
    """

    kernel: str
    registers: int
    spills: int | None
    shared_bytes: int
    threads: int
    launches: int


@dataclass(frozen=True)
class WithoutKernels:
    """A call whose launches had no effect: their number, and the fault that ended it early.

    `fault` came from the file's entry, or from the wait for its work. `broken` says why the
    grader's own part failed; then nothing else is evidence of anything.
    """

    launches: int
    fault: Fault | None = None
    broken: str = ""


@dataclass(frozen=True)
class Reply:
    """A worker's reply to the message numbered `seq`. An acknowledgement is only a hint.

    `peak` is the most bytes that the kernel file held beside the arena, in simulation, and `held`
    what it held over this call, which is drawn. `seconds` are those of each call of the last batch
    by the worker's own clock, where it has one. `walls` maps each wall that was tested, before a
    kernel file was read, to whether it holds. `traced`, `without_kernels`, `recording` and
    `kernels` are there where the judge asked for them, `unlisted` is the number of further kernels.
    """

    seq: int
    fault: Fault | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    peak: int | None = None
    held: HeldSeries | None = None
    seconds: tuple[float, ...] = ()
    launched: tuple[Launched, ...] = ()
    walls: Mapping[str, bool] = field(default_factory=dict)
    traced: Traced | None = None
    without_kernels: WithoutKernels | None = None
    recording: Recording | None = None
    kernels: tuple[Specialisation, ...] = ()
    unlisted: int = 0

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, message: Mapping[str, Any]) -> Reply:
        """Build a reply from a message. Raises WireError when the message has another form."""
        try:
            fault, without = message.get("fault"), message.get("without_kernels")
            recorded = message.get("recording")
            return cls(
                seq=wire.integer(message["seq"]),
                fault=None if fault is None else read_fault(fault),
                counts=wire.counts(message.get("counts", {})),
                peak=None if message.get("peak") is None else wire.total(message["peak"]),
                held=None if message.get("held") is None else read_held_series(message["held"]),
                seconds=tuple(map(_duration, list(message.get("seconds", ()))[:MOST_TIMES])),
                launched=tuple(map(_launched, list(message.get("launched", ()))[:MOST_KERNELS])),
                walls={wire.text(k): v is True for k, v in dict(message.get("walls", {})).items()},
                traced=None if message.get("traced") is None else read_traced(message["traced"]),
                without_kernels=None if without is None else _without_kernels(without),
                recording=None if recorded is None else read_recording(recorded),
                kernels=read_specialisations(message.get("kernels", [])),
                unlisted=wire.total(message.get("unlisted", 0)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WireError(f"a reply of another form: {error}") from None


def _duration(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value) or value < 0:
        raise TypeError(f"{value!r} is not a number of seconds")
    return value


def _launched(value: Mapping[str, Any]) -> Launched:
    spills = value["spills"]
    return Launched(
        kernel=wire.text(value["kernel"]),
        registers=wire.count(value["registers"]),
        spills=None if spills is None else wire.count(spills),
        shared_bytes=wire.count(value["shared_bytes"]),
        threads=wire.count(value["threads"]),
        launches=wire.count(value["launches"]),
    )


def _without_kernels(value: Mapping[str, Any]) -> WithoutKernels:
    fault = value["fault"]
    return WithoutKernels(
        launches=wire.total(value["launches"]),
        fault=None if fault is None else read_fault(fault),
        broken=wire.text(value["broken"]),
    )
