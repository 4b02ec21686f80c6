"""The record of one check, `grader/result/v1`, from which every export and page is derived.

The published schema is docs/result.schema.json; `python -m grader.model.results` prints it. Readers
ignore fields that they do not know. Nothing here defaults to a pass: a record that was never
finished says `unfinished`.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from grader.model.numbers import Numbers
from grader.model.outcomes import Limit, Outcome, Status
from grader.model.record import Record


def first_error(error: ValidationError) -> str:
    """Describe the first error of a record, without any text of the record itself."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    what = first["msg"].removeprefix("Value error, ")  # pydantic's, before what our checks say
    return f"{where}: {what}" if where else what


class Frame(Record):
    """One line of the learner's own code on the way to an error."""

    line: int
    function: str
    code: str


class Failure(Record):
    """The reason why a step failed, in words for the learner.

    `kind` is a stable word for programs, and so is `cause`, the likely reason behind it, where the
    failure shows one. `case` describes the case for a reader, and `replay` is
    the command that runs it again. `frames` holds the learner's frames only, outermost first.
    """

    kind: str
    message: str
    expected: str | None = None
    got: str | None = None
    where: str | None = None
    case: str | None = None
    replay: str | None = None
    frames: tuple[Frame, ...] = ()
    hint: str | None = None
    cause: str | None = Field(default=None, description="the likely cause, null: not known")
    numbers: Numbers | None = Field(
        default=None, description="of the case, where its outputs are wrong or it is small"
    )


class Traffic(Record):
    """Average reads and writes of each element of one argument in one simulated call.

    Where the inputs decide what must be read, of each element that they ask for.
    """

    argument: str
    reads: float
    writes: float
    most_reads: int | None = Field(description="the most that pass; null where any number does")
    most_writes: int | None


class MeasuredTraffic(Record):
    """Bytes that one call moved between the GPU and its memory, by hardware counters.

    All arguments together: taken where the kernel cannot be simulated.
    """

    case: str
    launches: int
    read_bytes: int
    written_bytes: int
    most_read_bytes: int = Field(description="what the limits of all arguments add up to")
    most_written_bytes: int


class Count(Record):
    """One count of the work of threads and warps in one simulated call, with its budget."""

    count: str = Field(description="such as transactions, bank_conflicts or barriers")
    value: int
    most: int = Field(description="the most that passes")
    best: int = Field(description="the best that is known")


class Clocks(Record):
    """NVML's readings between the batches. Ranges are from the lowest to the highest, in MHz."""

    sm_mhz: tuple[int, int]
    memory_mhz: tuple[int, int]
    temperature_c: int = Field(description="the highest")
    slowdowns: tuple[str, ...] = Field(description="reasons for which the GPU ran below its clock")


class Resources(Record):
    """Resources of one kernel that a call launches, as reported by the kernel's own process."""

    kernel: str
    registers: int = Field(description="per thread")
    spills: int | None = Field(description="bytes per thread kept in memory; null: not known")
    shared_bytes: int = Field(description="shared memory per block")
    threads: int = Field(description="per block")
    launches: int = Field(description="in one call")
    occupancy: float | None = Field(
        description="share of a multiprocessor's warps that fit at once, computed; null: not known"
    )


class Roof(Record):
    """The highest rate that one part of the GPU allows; the lowest roof is the reference."""

    name: str
    rate: float = Field(description="work a second, in the bound's unit")


class Speed(Record):
    """Measurements of the speed step. Bandwidths count the least bytes that the work needs.

    Of several scored cases, `sizes` has each. Times, rates, shares, the interval's ends and the
    gates are then their geometric means, and `bound` is `several` where theirs differ. All else is
    that of the case whose share is lowest for its gate.
    """

    case: str
    bound: StepName = Field(default="bandwidth", description="what the speed is compared with")
    bytes_moved: int = Field(description="bytes read and written by a perfect kernel, per call")
    time_ms: float = Field(description="milliseconds per call, median of the batches")
    bandwidth_gbps: float = Field(description="bytes_moved / time, in 1e9 bytes per second")
    ceiling_gbps: float = Field(description="the reference kernel of the same mix in the same run")
    share: float = Field(description="bandwidth_gbps / ceiling_gbps, median of the cycles")
    rate: float | None = Field(
        default=None, description="the kernel's work a second, in the bound's unit"
    )
    reference_rate: float | None = Field(
        default=None, description="the work a second that the share is of, in the bound's unit"
    )
    share_low: float = Field(description="end of the 95 % interval of the share")
    share_high: float = Field(description="end of the 95 % interval of the share")
    passing: float
    great: float
    goes: int
    calls_per_go: int
    first_call_s: float = Field(description="seconds of loading, compiling and the first call")
    latency_case: str = Field(description="a case so small that starting the kernel is most of it")
    latency_us: float = Field(description="microseconds per call of latency_case; not graded")
    raised: float = Field(
        default=1.0, description="the factor by which the judge's clock raised the worker's times"
    )
    clocks: Clocks | None = None
    attainable: float | None = Field(
        default=None, description="share of the ceiling that the counted traffic allows"
    )
    limit: Limit | None = Field(default=None, description="what keeps the kernel from great")
    explanation: tuple[str, ...] = Field(default=(), description="`limit` in sentences")
    resources: tuple[Resources, ...] = ()
    roofs: tuple[Roof, ...] = Field(
        default=(), description="of the bound roofline: what memory and arithmetic allow"
    )
    sizes: tuple[Speed, ...] = Field(
        default=(), description="each scored case, where there are several; they have none"
    )


class HeldOverCall(Record):
    """Bytes held over one call that was counted in simulation, beside those of torch's own call.

    The page draws it; where it begins above 0, the judge counts memory once more. A point is the
    number of a change, which is an allocation or a release, and the bytes held after it. Number 0
    is the start of the call.
    """

    case: str
    kernel: tuple[tuple[int, int], ...] = Field(
        default=(), description="beyond the arguments, by the kernel's own process; empty: missing"
    )
    torch: tuple[tuple[int, int], ...] = Field(
        default=(), description="beyond the inputs, by the spec's reference; empty: missing"
    )
    torch_outputs: int = Field(
        default=0, description="bytes of the outputs in `torch`, which the kernel is given"
    )
    missing: str = Field(default="", description="why a series is missing; empty: none is")


class Memory(Record):
    """Memory that one call held beyond its arguments."""

    case: str
    peak_bytes: int = Field(
        description="simulated: worked out from two small cases; on a GPU: what grows with the "
        "arguments, and what does not above 512 MiB"
    )
    most_bytes: int = Field(description="the most that passes")
    rule: str = Field(
        default="", description="why that is the most, for a person; empty in older results"
    )
    simulated: bool
    held_bytes: int | None = Field(
        default=None, description="on a GPU: all that the call held, with code and streams"
    )
    over_call: HeldOverCall | None = Field(
        default=None, description="null where no call was counted in simulation"
    )


class Width(Record):
    """Instructions of one kernel that load or store so many bits of a thread at once."""

    bits: int
    instructions: int


class Compiled(Record):
    """One kernel compiled for one GPU, whether or not it is there. Sizes are in bytes.

    Where the compiler refused it, `error` says why, and the other figures are null.
    """

    kernel: str
    dtype: str
    target: int = Field(description="compute capability, such as 90")
    required: bool = Field(description="whether a refusal fails the step")
    registers: int | None = Field(default=None, description="per thread")
    spills: int | None = Field(default=None, description="bytes per thread kept in memory")
    shared_bytes: int | None = Field(default=None, description="shared memory per block")
    threads: int | None = Field(default=None, description="per block")
    blocks: int | None = Field(
        default=None, description="that fit on a multiprocessor at once; null: not known"
    )
    occupancy: float | None = Field(
        default=None, description="share of a multiprocessor's warps that fit; null: not known"
    )
    loads: tuple[Width, ...] = Field(
        default=(), description="of global memory, from the SASS; empty unless required"
    )
    stores: tuple[Width, ...] = Field(
        default=(), description="of global memory, from the SASS; empty unless required"
    )
    arithmetic: int | None = Field(
        default=None, description="instructions of arithmetic, from the SASS; null: not counted"
    )
    error: str | None = Field(default=None, description="the compiler's sentence")
    line: int | None = Field(default=None, description="of the kernel file, where it is known")


# Open, so that a new step breaks no reader; a word, for it is printed and written as it is.
StepName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class Step(Record):
    name: StepName
    outcome: Outcome
    points: int
    max_points: int
    summary: str = Field(description="the work of the step, or why it was not done")
    duration_s: float
    failure: Failure | None = None
    speed: Speed | None = None
    memory: Memory | None = None
    traffic: tuple[Traffic, ...] = ()
    measured: MeasuredTraffic | None = Field(
        default=None, description="traffic by hardware counters, where none was counted"
    )
    counts: tuple[Count, ...] = ()
    compiled: tuple[Compiled, ...] = ()


class SanitizerError(Record):
    """One error that compute-sanitizer found, on the learner's lines where it knows them.

    `kind` is out_of_bounds, misaligned or race. `frames` holds both sides of a race. `thread` and
    `block` are those of the first report, such as `(5,0,0)`.
    """

    kind: str
    message: str
    function: str = Field(description="the compiled function, for where no line is known")
    frames: tuple[Frame, ...] = ()
    thread: str | None = None
    block: str | None = None
    count: int = Field(default=1, description="reports of the same kind on the same lines")


class Sanitized(Record):
    """The report of one tool of compute-sanitizer about one small call. It earns no points."""

    tool: str = Field(description="memcheck or racecheck")
    outcome: Outcome
    case: str
    summary: str
    errors: tuple[SanitizerError, ...] = ()
    replay: str | None = None
    report: str = Field(default="", description="first part of the tool's own report")


class EntryResult(Record):
    """One entry of a file with several. Each is graded by itself, with its own steps and points."""

    entry: str
    status: Status
    points: int
    max_points: int
    steps: tuple[Step, ...]


class Kernel(Record):
    """The file that was graded."""

    path: str
    sha256: str
    backend: str | None = None


class Environment(Record):
    """The machine and the packages of the check. `simulated` results hold no speed."""

    grader: str
    python: str
    torch: str | None = None
    triton: str | None = None
    numba_cuda: str | None = None
    device: str = Field(description="`cpu`, or the GPU's name")
    simulated: bool
    capability: str | None = None
    driver: str | None = None


class Wall(Record):
    """One thing that a kernel file must not be able to do, tested before the file is read."""

    name: str
    held: bool


class Result(Record):
    """One kernel file graded once."""

    schema_: Literal["grader/result/v1"] = Field(alias="schema")
    exercise: str
    title: str
    status: Status
    points: int
    max_points: int
    message: str = Field(default="", description="one sentence where no step explains the status")
    kernel: Kernel
    environment: Environment
    seed: int
    started_at: str = Field(description="UTC, ISO 8601")
    duration_s: float
    steps: tuple[Step, ...]
    sanitized: tuple[Sanitized, ...] = Field(
        default=(), description="with --sanitize: one entry for each tool"
    )
    entries: tuple[EntryResult, ...] = Field(
        default=(),
        description="of a file with several entries; then each of `steps` has the worst outcome "
        "of its entries, and the points of all",
    )
    walls: tuple[Wall, ...] = Field(
        default=(), description="tests of the kernel's process; empty: no wall was tested"
    )
    hardened: bool = Field(default=False, description="whether required walls had to hold")
    output: str = Field(default="", description="first part of the kernel's own output")


def result_json(result: Result, indent: int | None = None) -> str:
    return result.model_dump_json(by_alias=True, indent=indent)


def parse_result(text: str | bytes) -> Result:
    """Read a result. Raises pydantic.ValidationError for anything but a result of this version."""
    return Result.model_validate_json(text)


def json_schema() -> dict[str, Any]:
    schema = Result.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
