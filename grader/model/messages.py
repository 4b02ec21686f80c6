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

from grader.model.channel import WireError
from grader.model.texts import barred, printable, printable_line

MOST_FRAMES = 20
MOST_TIMES = 1024  # calls in one message
MOST_SPECIALISATIONS = 64  # of kernels, each with its text, in one report
MOST_ORIGINS = 16  # of undefined values, in one report
MOST_KERNELS = 8  # different kernels that one call launches
MOST_TOUCHED, MOST_RUNS = (
    64,
    4096,
)  # lines with their arguments, and runs of elements, in one report
MOST_ACCESSES = 8000  # of one traced call; at 60 bytes each, half of what a line may hold
MOST_LAUNCHES, MOST_ARRAYS, MOST_AXES = 256, 64, 8  # of a traced call, and of one array
MOST_RECORDED, MOST_CODE = 64, 16  # launches and compiled kernels of a recorded call
MOST_PARAMETERS = 256  # of one launch
LONGEST_NAME = 200  # characters of a kernel's or an array's
FROM_END = 4  # the fault of an access by an index below 0
# Types of the parameters of a recorded launch.
PARAMETERS = (
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp32", "fp64"),
    *("arena", "scratch"),
)
TOUCHES = ("read", "write", "update")
COMBINED = ("", "sum", "product", "maximum", "minimum")
SPACES = ("argument", "scratch", "shared")  # global memory that the entry gets, or makes; a block's
LARGEST_COUNT = 2**31 - 1  # of registers, bytes, threads or launches
LARGEST_INTEGER = 2**63 - 1  # the judge calculates with what a worker counts, also as floats


@dataclass(frozen=True)
class TensorRef:
    """A tensor in the arena: byte offset of its first element, extents and strides in elements."""

    name: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Fault:
    """An error in the worker, as the worker reports it.

    `frames` are (line, function, source line) of the kernel file, outermost first.
    """

    kind: str
    message: str
    frames: tuple[tuple[int, str, str], ...] = ()


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
class LaunchRef:
    """One launch of a kernel, with the extents (x, y, z) of its grid and of its blocks."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True)
class ArrayRef:
    """An array that threads use; `space` is one of SPACES. Each block has its own shared ones."""

    name: str
    space: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Traced:
    """The accesses of all threads in one simulated call.

    A row of `accesses` is: number of the launch, barriers that the block has passed, number of the
    block and of the thread (x fastest), number of the array, element (flat, in C order; -1 where
    the index leads out of the array), kind (0 read, 1 write, 2 atomic update), line of the kernel
    file (0: none), and its fault (0 none, 1 out of bounds, 2 race, 3 uninitialised, FROM_END an
    index below 0, which counts from the end).

    `outside` is the index that led out of its array, as written. `cut` is the number of further
    accesses, which are not listed. `fault` ended the call.
    """

    launches: tuple[LaunchRef, ...] = ()
    arrays: tuple[ArrayRef, ...] = ()
    accesses: tuple[tuple[int, ...], ...] = ()
    outside: tuple[int, ...] = ()
    cut: int = 0
    fault: Fault | None = None


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

    `peak` is the most bytes that the kernel file held beside the arena, in simulation. `seconds`
    are those of each call of the last batch by the worker's own clock, where it has one. `walls`
    maps each wall that was tested, before a kernel file was read, to whether it holds. `traced`,
    `without_kernels`, `recording` and `kernels` are there where the judge asked for them,
    `unlisted` is the number of further kernels.
    """

    seq: int
    fault: Fault | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    peak: int | None = None
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
                seq=_integer(message["seq"]),
                fault=None if fault is None else _fault(fault),
                counts=_counts(message.get("counts", {})),
                peak=None if message.get("peak") is None else _total(message["peak"]),
                seconds=tuple(map(_duration, list(message.get("seconds", ()))[:MOST_TIMES])),
                launched=tuple(map(_launched, list(message.get("launched", ()))[:MOST_KERNELS])),
                walls={_text(k): v is True for k, v in dict(message.get("walls", {})).items()},
                traced=None if message.get("traced") is None else _traced(message["traced"]),
                without_kernels=None if without is None else _without_kernels(without),
                recording=None if recorded is None else _recording(recorded),
                kernels=tuple(map(_specialisation, _at_most(message.get("kernels", [])))),
                unlisted=_total(message.get("unlisted", 0)),
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
    the load masks off. `joined` is the line that first combined the value with others, 0 where none
    did, and `combined` one of COMBINED: how it did so.
    """

    output: str
    line: int
    name: str = ""
    array: str = ""
    element: int = 0
    joined: int = 0
    combined: str = ""


@dataclass(frozen=True)
class Touched:
    """The elements of one argument that one line accesses, by all programs of a call together.

    `kind` is one of TOUCHES. `runs` are pairs of a first element and the one after the last,
    counted in memory from the argument's first one, so that gaps between rows count, too. `lanes`
    are those of one program, active or not; `masked` says if some were not. `programs` took part.
    `unset` says that elements were read before the call had stored to them.
    """

    line: int
    kind: str
    array: str
    runs: tuple[tuple[int, int], ...]
    lanes: int = 1
    masked: bool = False
    programs: int = 1
    unset: bool = False


@dataclass(frozen=True)
class Sightings:
    """The launches and accesses of a call that a device was asked to watch closely.

    `twice` has, for each argument, the runs of elements that two programs or more stored to. `cut`
    says that the record is incomplete.
    """

    launches: tuple[LaunchRef, ...] = ()
    touched: tuple[Touched, ...] = ()
    twice: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True)
class DeviceReport:
    """A simulated device's reply to the message numbered `seq`: its view of one call.

    `fault` ended the call, whatever the kernel file made of it; its frames hold no source lines.
    `counts` are those of `Reply`, made outside of the learner's process. `launches` were asked for,
    with effect or without. `held` is the most bytes beside the arena that one launch was given.
    `not_simulated` names the part of the kernel that the device lacks. `kernels` are those that
    the last call launched, where the judge asked for them. `unlisted` of these are not among them,
    because a report has no room for more. `origins` are those of undefined values that the call
    used; they are material for hints, and decide nothing.
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
            seen = message.get("sightings")
            return cls(
                seq=_integer(message["seq"]),
                fault=None if fault is None else _fault(fault),
                counts=_counts(message.get("counts", {})),
                launches=_total(message.get("launches", 0)),
                held=_total(message.get("held", 0)),
                not_simulated=None if lacks is None else _text(lacks),
                kernels=tuple(map(_specialisation, _at_most(message.get("kernels", [])))),
                unlisted=_total(message.get("unlisted", 0)),
                origins=tuple(map(_origin, list(message.get("origins", ()))[:MOST_ORIGINS])),
                sightings=None if seen is None else _sightings(seen),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WireError(f"a report of another form: {error}") from None


def _integer(value: Any) -> int:
    if type(value) is not int or abs(value) > LARGEST_INTEGER:
        raise TypeError(f"{value!r} is not an integer of 64 bits")
    return value


def _duration(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value) or value < 0:
        raise TypeError(f"{value!r} is not a number of seconds")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return printable_line(value)


def _lines(value: Any) -> str:
    """Return a text that may have several lines, which stay recognizable as a learner's."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return barred(printable(value))


def _launched(value: Mapping[str, Any]) -> Launched:
    spills = value["spills"]
    return Launched(
        kernel=_text(value["kernel"]),
        registers=_count(value["registers"]),
        spills=None if spills is None else _count(spills),
        shared_bytes=_count(value["shared_bytes"]),
        threads=_count(value["threads"]),
        launches=_count(value["launches"]),
    )


def _at_most(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) > MOST_SPECIALISATIONS:
        raise ValueError(f"not a list of at most {MOST_SPECIALISATIONS}")
    return value


def _specialisation(value: Mapping[str, Any]) -> Specialisation:
    text, options = value["text"], value["options"]
    if not isinstance(text, str):
        raise TypeError("a kernel's text is no text")
    registers, fuses = options["maxnreg"], options["enable_fp_fusion"]
    if type(fuses) is not bool:
        raise TypeError("an option of another type")
    return Specialisation(
        kernel=_text(value["kernel"]),
        text=text,  # for a compiler behind walls, never for the screen
        options=BuildOptions(
            num_warps=_count(options["num_warps"], 32),
            num_ctas=_count(options["num_ctas"], 16),
            num_stages=_count(options["num_stages"], 64),
            maxnreg=None if registers is None else _count(registers, 1024),
            enable_fp_fusion=fuses,
            shared=_count(options["shared"]),
        ),
        trial=value.get("trial") is True,
    )


def _origin(value: Mapping[str, Any]) -> Origin:
    return Origin(
        output=_text(value["output"]),
        line=_count(value["line"]),
        name=_text(value["name"]),
        array=_text(value["array"]),
        element=_total(value["element"]),
        joined=_count(value["joined"]),
        combined=_one_of(COMBINED, value["combined"]),
    )


def _sightings(value: Mapping[str, Any]) -> Sightings:
    return Sightings(
        launches=tuple(map(_launch, list(value["launches"])[:MOST_LAUNCHES])),
        touched=tuple(map(_touched, list(value["touched"])[:MOST_TOUCHED])),
        twice={_text(name): _runs(runs) for name, runs in dict(value["twice"]).items()},
        cut=value["cut"] is True,
    )


def _touched(value: Mapping[str, Any]) -> Touched:
    return Touched(
        line=_count(value["line"]),
        kind=_one_of(TOUCHES, value["kind"]),
        array=_text(value["array"]),
        runs=_runs(value["runs"]),
        lanes=_total(value["lanes"]),
        masked=value["masked"] is True,
        programs=_total(value["programs"]),
        unset=value["unset"] is True,
    )


def _runs(value: Any) -> tuple[tuple[int, int], ...]:
    runs = tuple((_total(first), _total(stop)) for first, stop in list(value)[:MOST_RUNS])
    if any(stop <= first for first, stop in runs):
        raise ValueError("a run of no elements")
    return runs


def _launch(value: Mapping[str, Any]) -> LaunchRef:
    return LaunchRef(_text(value["kernel"]), _three(value["grid"]), _three(value["block"]))


def _count(value: Any, largest: int = LARGEST_COUNT) -> int:
    if not 0 <= _integer(value) <= largest:
        raise ValueError(f"{value} is not a count")
    return int(value)


def _total(value: Any) -> int:
    return _count(value, LARGEST_INTEGER)


def _counts(value: Any) -> dict[str, int]:
    return {_text(name): _total(number) for name, number in dict(value).items()}


def _fault(value: Mapping[str, Any]) -> Fault:
    frames = tuple(
        (_integer(line), _text(function), _text(code))
        for line, function, code in list(value.get("frames", ()))[-MOST_FRAMES:]
    )
    return Fault(kind=_text(value["kind"]), message=_lines(value["message"]), frames=frames)


def _without_kernels(value: Mapping[str, Any]) -> WithoutKernels:
    fault = value["fault"]
    return WithoutKernels(
        launches=_count(value["launches"], LARGEST_INTEGER),
        fault=None if fault is None else _fault(fault),
        broken=_text(value["broken"]),
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
        scratch=_total(value["scratch"]),
        refused=_text(value["refused"]),
    )


def _recorded_launch(value: Mapping[str, Any], codes: int) -> RecordedLaunch:
    parameters = [(kind, number) for kind, number in value["parameters"]]
    if len(parameters) > MOST_PARAMETERS:
        raise ValueError(f"{len(parameters)} parameters")
    for kind, number in parameters:
        if type(number) is not (float if _one_of(PARAMETERS, kind).startswith("fp") else int):
            raise TypeError(f"{number!r} is no {kind}")
    if not re.fullmatch(r"[A-Za-z_$][\w$.]*", _text(value["kernel"]), re.ASCII):
        raise ValueError("no name of a kernel")  # it will stand in a table, among what is counted
    return RecordedLaunch(
        kernel=_text(value["kernel"]),
        code=_count(value["code"], codes - 1),
        grid=_three(value["grid"]),
        threads=_count(value["threads"]),
        shared=_count(value["shared"]),
        parameters=tuple(parameters),
    )


def _traced(value: Mapping[str, Any]) -> Traced:
    fault = value["fault"]
    launches = tuple(map(_launch, list(value["launches"])[:MOST_LAUNCHES]))
    arrays = tuple(
        ArrayRef(_text(one["name"]), _one_of(SPACES, one["space"]), _extents(one["shape"]))
        for one in list(value["arrays"])[:MOST_ARRAYS]
    )
    if len(value["accesses"]) > MOST_ACCESSES:
        raise ValueError("more accesses than asked for")
    return Traced(
        launches=launches,
        arrays=arrays,
        accesses=tuple(_access(row, launches, arrays) for row in value["accesses"]),
        outside=tuple(map(_integer, list(value["outside"])[:MOST_AXES])),
        cut=_total(value["cut"]),
        fault=None if fault is None else _fault(fault),
    )


def _access(
    row: list[Any], launches: Sequence[LaunchRef], arrays: Sequence[ArrayRef]
) -> tuple[int, ...]:
    launch, step, block, thread, array, element, kind, line, wrong = map(_integer, row)
    where, what = (
        launches[_count(launch, len(launches) - 1)],
        arrays[_count(array, len(arrays) - 1)],
    )
    _count(step)
    _count(block, math.prod(where.grid) - 1)
    _count(thread, math.prod(where.block) - 1)
    _count(element + 1, math.prod(what.shape))
    _count(kind, 2)
    _count(line)
    _count(wrong, FROM_END)
    if (element == -1) != (wrong == 1):
        raise ValueError("an access without an element is out of bounds, and no other one is")
    return launch, step, block, thread, array, element, kind, line, wrong


def _three(value: Any) -> tuple[int, int, int]:
    x, y, z = _extents(value)
    if min(x, y, z) < 1:
        raise ValueError("a launch of nothing")
    return x, y, z


def _extents(value: Any) -> tuple[int, ...]:
    extents = tuple(_count(extent) for extent in list(value))
    if len(extents) > MOST_AXES:
        raise ValueError(f"{len(extents)} axes")
    return extents


def _one_of(words: Sequence[str], value: Any) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is not one of {words}")
    return str(value)
