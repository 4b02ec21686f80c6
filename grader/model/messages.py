"""The messages between judge, worker and simulated device, and how each is read.

The judge believes nothing that comes from a worker: `Reply.parse` accepts only known fields of the
known types and cuts every text. `DeviceReport.parse` reads a device as strictly.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from grader.model import wire
from grader.model.channel import WireError
from grader.model.faults import Fault, read_fault
from grader.model.held_series import HeldSeries, read_held_series
from grader.model.sightings import Sightings, read_sightings
from grader.model.traced import Traced, read_traced
from grader.model.traced_lanes import TracedLanes, read_traced_lanes

MOST_TIMES = 1024  # calls in one message
MOST_SPECIALISATIONS = 64  # of kernels, each with its text, in one report
MOST_ORIGINS = 16  # of undefined values, in one report
MOST_KERNELS = 8  # different kernels that one call launches
MOST_RECORDED, MOST_CODE = 64, 16  # launches and compiled kernels of a recorded call
MOST_PARAMETERS = 256  # of one launch
# Types of the parameters of a recorded launch.
PARAMETERS = (
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp32", "fp64"),
    *("arena", "scratch"),
)

COMBINED = ("", "sum", "product", "maximum", "minimum")


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
class RecordedLaunch:
    """One launch of a compiled kernel: all that the GPU's driver needs to make it again.

    `code` is an index into the call's `Recording.code`. `threads` are those of a block, `shared`
    is its dynamic shared memory in bytes. A parameter is a type and a value: `i1` to `u64`, `fp32`
    or `fp64` and a number; `arena` or `scratch` and an offset in bytes, for a pointer into either.
    """

    kernel: str
    code: int
    grid: tuple[int, int, int]
    threads: int
    shared: int
    parameters: tuple[tuple[str, int | float], ...]


@dataclass(frozen=True)
class Recording:
    """The launches of one call, in their order; `scratch` is the bytes of memory beside the arena.

    `code` holds machine code in base64. `refused` says why the call cannot be repeated by these
    launches, if it cannot.
    """

    launches: tuple[RecordedLaunch, ...] = ()
    code: tuple[str, ...] = ()
    scratch: int = 0
    refused: str = ""


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
    what it held over this call, which is drawn. `seconds` are those of each
    call of the last batch by the worker's own clock, where it has one. `walls` maps each wall that
    was tested, before a kernel file was read, to whether it holds. `traced`, `without_kernels`,
    `recording` and `kernels` are there where the judge asked for them, `unlisted` is the number of
    further kernels.
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
                counts=_counts(message.get("counts", {})),
                peak=None if message.get("peak") is None else wire.total(message["peak"]),
                held=None if message.get("held") is None else read_held_series(message["held"]),
                seconds=tuple(map(_duration, list(message.get("seconds", ()))[:MOST_TIMES])),
                launched=tuple(map(_launched, list(message.get("launched", ()))[:MOST_KERNELS])),
                walls={wire.text(k): v is True for k, v in dict(message.get("walls", {})).items()},
                traced=None if message.get("traced") is None else read_traced(message["traced"]),
                without_kernels=None if without is None else _without_kernels(without),
                recording=None if recorded is None else _recording(recorded),
                kernels=tuple(map(_specialisation, _at_most(message.get("kernels", [])))),
                unlisted=wire.total(message.get("unlisted", 0)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WireError(f"a reply of another form: {error}") from None


@dataclass(frozen=True)
class BuildOptions:
    """The options of a compiled kernel, by the names of one compiler.

    `shared` is in bytes: what a launch adds to the shared memory that the code itself names.
    """

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    shared: int = 0


@dataclass(frozen=True)
class Specialisation:
    """A kernel as a file launched it: the text of a compiler's input, and the options.

    A `trial` is a form that a benchmark launched, to choose among the forms of a kernel.
    """

    kernel: str
    text: str
    options: BuildOptions = field(default_factory=BuildOptions)
    trial: bool = False


def listed(
    kernels: Collection[Specialisation], most: int
) -> tuple[tuple[Specialisation, ...], int]:
    """Return as many kernels as a message of about `most` bytes may hold, and how many it lacks.

    Those of benchmarks come last, and where they are not listed, only other kernels count.
    """
    chosen: list[Specialisation] = []
    for kernel in sorted(kernels, key=lambda each: each.trial):
        most -= len(json.dumps(kernel.text))
        if most < 0 or len(chosen) == MOST_SPECIALISATIONS:
            break
        chosen.append(kernel)
    launched = sum(not each.trial for each in kernels) - sum(not each.trial for each in chosen)
    names = {each.kernel for each in kernels} - {each.kernel for each in chosen}
    return tuple(chosen), max(launched, len(names))


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
                counts=_counts(message.get("counts", {})),
                launches=wire.total(message.get("launches", 0)),
                held=wire.total(message.get("held", 0)),
                not_simulated=None if lacks is None else wire.text(lacks),
                kernels=tuple(map(_specialisation, _at_most(message.get("kernels", [])))),
                unlisted=wire.total(message.get("unlisted", 0)),
                origins=tuple(map(_origin, list(message.get("origins", ()))[:MOST_ORIGINS])),
                lanes=None if lanes is None else read_traced_lanes(lanes),
                sightings=None if seen is None else read_sightings(seen),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WireError(f"a report of another form: {error}") from None


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


def _at_most(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) > MOST_SPECIALISATIONS:
        raise ValueError(f"not a list of at most {MOST_SPECIALISATIONS}")
    return value


def _specialisation(value: Mapping[str, Any]) -> Specialisation:
    text, options = value["text"], value["options"]
    if not isinstance(text, str):
        raise TypeError("a kernel's text is not text")
    registers, fuses = options["maxnreg"], options["enable_fp_fusion"]
    if type(fuses) is not bool:
        raise TypeError("an option of another type")
    return Specialisation(
        kernel=wire.text(value["kernel"]),
        text=text,  # for a compiler behind walls, never for the screen
        options=BuildOptions(
            num_warps=wire.count(options["num_warps"], 32),
            num_ctas=wire.count(options["num_ctas"], 16),
            num_stages=wire.count(options["num_stages"], 64),
            maxnreg=None if registers is None else wire.count(registers, 1024),
            enable_fp_fusion=fuses,
            shared=wire.count(options["shared"]),
        ),
        trial=value.get("trial") is True,
    )


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


def _counts(value: Any) -> dict[str, int]:
    return {wire.text(name): wire.total(number) for name, number in dict(value).items()}


def _without_kernels(value: Mapping[str, Any]) -> WithoutKernels:
    fault = value["fault"]
    return WithoutKernels(
        launches=wire.total(value["launches"]),
        fault=None if fault is None else read_fault(fault),
        broken=wire.text(value["broken"]),
    )


def _recording(value: Mapping[str, Any]) -> Recording:
    code, launches = list(value["code"]), list(value["launches"])
    if len(code) > MOST_CODE or len(launches) > MOST_RECORDED:
        raise ValueError("more launches than asked for")
    for text in code:
        base64.b64decode(text, validate=True)
    return Recording(
        launches=tuple(_recorded_launch(one, len(code)) for one in launches),
        code=tuple(code),
        scratch=wire.total(value["scratch"]),
        refused=wire.text(value["refused"]),
    )


def _recorded_launch(value: Mapping[str, Any], codes: int) -> RecordedLaunch:
    parameters = [(kind, number) for kind, number in value["parameters"]]
    if len(parameters) > MOST_PARAMETERS:
        raise ValueError(f"{len(parameters)} parameters")
    for kind, number in parameters:
        if type(number) is not (float if wire.one_of(PARAMETERS, kind).startswith("fp") else int):
            raise TypeError(f"{number!r} is no {kind}")
    if not re.fullmatch(r"[A-Za-z_$][\w$.]*", wire.text(value["kernel"]), re.ASCII):
        raise ValueError("no name of a kernel")  # it will stand in a table, among what is counted
    return RecordedLaunch(
        kernel=wire.text(value["kernel"]),
        code=wire.count(value["code"], codes - 1),
        grid=wire.three(value["grid"]),
        threads=wire.count(value["threads"]),
        shared=wire.count(value["shared"]),
        parameters=tuple(parameters),
    )
