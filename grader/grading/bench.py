"""`grader bench`: a kernel beside torch and the model solution, over a range of sizes.

Nothing is graded here: each call is timed by CUDA events that its own worker records, and a worker
that lies fools only who runs it. Outputs are checked all the same, once for each size.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from grader import backends
from grader.course import Exercise
from grader.grading.session import ForkServers
from grader.machine import choose_device, environment, gpu_lock, nvml
from grader.model import CannotGrade, Environment, Record, Spec, UsageError
from grader.sandbox import CudaArena, KernelFailure, WorkerLink, entry_of
from grader.speed import (
    L2_MULTIPLE,
    MEMORY_SHARE,
    Gpu,
    Profile,
    ReferenceKernel,
    SlotContents,
    Slots,
    arena_bytes,
    bytes_per_row,
    rounds,
    scored_case,
    size,
    survey,
    time_calls,
)
from grader.speed import sizes as tensor_sizes

SMALLEST = 2**20  # bytes of arguments
SIZES = 6
BATCHES = 3
# Calls of a go: the first is slower by the time it takes to launch it, and must not be the median.
LEAST_SLOTS, MOST_SLOTS = 4, 64
ROW_MULTIPLE = 16  # elements of a 1-D argument, so that no kernel has an odd tail

# float32 results per clock and multiprocessor, by compute capability: CUDA C++ Programming Guide,
# "Throughput of Native Arithmetic Instructions". A fused multiply-add counts as two operations.
LANES = {
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 7): 128,
    (8, 9): 128,
    (9, 0): 128,
    (10, 0): 128,
    (10, 3): 128,
    (11, 0): 128,
    (12, 0): 128,
    (12, 1): 128,
}
WRONG = "wrong"


@dataclass(frozen=True)
class Contender:
    """A kernel file under a name that a table and a picture can show."""

    name: str
    kernel: bytes


class Size(Record):
    """One size of the scored case, and how it is timed."""

    rows: int = Field(description="of a matrix, or elements of a vector")
    case: str
    bytes: int = Field(description="the least that a call moves")
    flops: int | None = Field(description="operations of a call; null where none are declared")
    calls: int = Field(description="one after the other, each on memory of its own")
    l2_multiple: float = Field(description="what these calls hold, in L2 caches")


class Point(Record):
    """One contender at one size: its median call, or why there is none."""

    contender: str
    case: str
    bytes: int
    seconds: float | None = None
    bandwidth: float | None = Field(default=None, description="least bytes per second")
    problem: str = Field(default="", description="`wrong`, or what went wrong")


class Benchmark(Record):
    """The record of one `grader bench`. Bandwidths are bytes per second."""

    schema_: Literal["grader/bench/v1"] = Field(default="grader/bench/v1", alias="schema")
    exercise: str
    title: str
    environment: Environment
    ceiling: float = Field(description="of a trusted kernel of the same mix, at the largest size")
    peak_flops: float | None = Field(
        description="float32 operations per second at the highest clock; null: not known"
    )
    sizes: tuple[Size, ...]
    contenders: tuple[str, ...]
    points: tuple[Point, ...]
    profile: Profile | None = Field(default=None, description="null where none was asked for")

    @property
    def ridge(self) -> float | None:
        """Operations per byte at which memory and arithmetic limit a kernel alike."""
        return None if self.peak_flops is None else self.peak_flops / self.ceiling


def contenders(exercise: Exercise, kernel: Path, against: Sequence[Path]) -> list[Contender]:
    """Who takes part. Raises UsageError when a named file cannot be read."""
    is_solution = kernel.resolve() == exercise.solution.resolve()
    found = [Contender("solution" if is_solution else "your kernel", _read(kernel))]
    eager = exercise.folder / "eager.py"
    if eager.exists():
        text = eager.read_bytes()
        found.append(Contender("torch eager", text))
        found.append(Contender("torch.compile", text + compiled(exercise.spec).encode()))
    if exercise.solution.exists() and not is_solution:
        found.append(Contender("solution", exercise.solution.read_bytes()))
    for path in dict.fromkeys(against):
        taken = {"kernel", *(one.name for one in found)}
        found.append(Contender(str(path) if path.stem in taken else path.stem, _read(path)))
    return found


def compiled(spec: Spec) -> str:
    """What turns the text of an `eager.py` into its torch.compile form, put at its end.

    An entry that takes a library's own arrays converts them first, which is no work for a compiler:
    the function on tensors that it calls is compiled.
    """
    takes_tensors = backends.find(spec.backend).takes_tensors
    name = spec.entry if takes_tensors else f"{spec.entry}_tensors"
    return f"""

import functools

import torch._dynamo
import torch._inductor.config

torch._dynamo.config.recompile_limit = {2 * SIZES}
torch._inductor.config.compile_threads = 1  # in this process: a pool would outlive the call
_compiled = torch.compile({name})


def _taken(argument):
    if not isinstance(argument, torch.Tensor):
        return argument  # a number: one compiled form serves all, as `dynamic=False` would not have
    # With a storage of its own: the compiler does not take changes to one of several tensors of
    # different types in one memory.
    tensor = torch.from_dlpack(argument)
    torch._dynamo.mark_static(tensor)  # each size is compiled for itself
    return tensor


@functools.wraps({name})
def {name}(*arguments):
    _compiled(*map(_taken, arguments))
"""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The kernel file {path} cannot be read: {error.strerror}.", "Check its path."
        ) from None


def run(
    exercise: Exercise,
    entrants: Sequence[Contender],
    progress: Callable[[str], None],
    gpu_memory: int | None = None,
) -> Benchmark:
    """Measure every contender at every size, in at most `gpu_memory` bytes of the GPU.

    Raises CannotGrade without a CUDA GPU, or when another check holds it.
    """
    require_gpu()
    with gpu_lock.exclusive_gpu(), closing(ForkServers()) as fork_servers:
        spec = exercise.spec
        sizes = plan(spec, survey(gpu_memory))
        points: list[Point] = []
        room = max(arena_bytes(spec, one.rows, one.calls) for one in sizes)
        with closing(CudaArena(room)) as arena:
            progress("the ceiling")
            ceiling = _ceiling(fork_servers, spec, sizes[-1], arena)
            for entrant in entrants:
                fork_server = fork_servers.fork_server(spec.backend, "cuda")
                link = WorkerLink(entry_of(spec), entrant.kernel, fork_server, arena)
                with closing(link):
                    for point in measured(spec, entrant.name, sizes, link, arena.memory):
                        points.append(point)
                        progress(f"{point.contender}: {point.case}")
            ceiling = max(ceiling, _ceiling(fork_servers, spec, sizes[-1], arena))
    return Benchmark(
        exercise=exercise.name,
        title=spec.title,
        environment=environment("cuda"),
        ceiling=ceiling,
        peak_flops=_peak_flops(),
        sizes=tuple(sizes),
        contenders=tuple(one.name for one in entrants),
        points=tuple(points),
    )


def require_gpu() -> None:
    """Raises CannotGrade without a CUDA GPU."""
    try:
        choose_device("cuda")
    except CannotGrade as error:
        raise CannotGrade(
            f"`grader bench` needs a CUDA GPU. {error.message}",
            "Nothing that is simulated has a speed: measure on a machine with a CUDA GPU.",
        ) from None


def plan(spec: Spec, gpu: Gpu) -> list[Size]:
    """Sizes in geometric steps from SMALLEST bytes of arguments to those of the scored case.

    A go is LEAST_SLOTS to MOST_SLOTS calls, each on memory of its own, and as many as exceed
    L2_MULTIPLE L2 caches together where they and the free memory allow it.
    """
    per_row = bytes_per_row(spec)
    largest = size(gpu, per_row, multiple=ROW_MULTIPLE, rounds=rounds(spec)).rows
    smallest = min(max(1, SMALLEST // per_row), largest)
    room = int(MEMORY_SHARE * gpu.free)
    sizes: list[Size] = []
    for step in range(SIZES):
        rows = round(smallest * (largest / smallest) ** (step / (SIZES - 1)))
        if spec.timed[0].columns is None:
            rows = max(1, rows // ROW_MULTIPLE) * ROW_MULTIPLE
        if sizes and rows <= sizes[-1].rows:
            continue
        held = rows * per_row
        wanted = max(LEAST_SLOTS, math.ceil(L2_MULTIPLE * gpu.l2 / held))
        calls = min(MOST_SLOTS, wanted, room // held)
        case = scored_case(spec, rows)
        sizes.append(
            Size(
                rows=rows,
                case=case.headline,
                bytes=sum(spec.least_bytes(tensor_sizes(spec, rows))),
                flops=None if spec.flops is None else spec.flops(case),
                calls=max(1, calls),
                l2_multiple=max(1, calls) * held / gpu.l2,
            )
        )
    return sizes


def measured(
    spec: Spec, name: str, sizes: Sequence[Size], kernel: WorkerLink, memory: Tensor
) -> Iterator[Point]:
    """One contender's points; after a failure of the call itself, the sizes left are not tried."""
    for one in sizes:
        slots = Slots(spec, scored_case(spec, one.rows), one.calls, memory)
        try:
            seconds, right = _timed(kernel, slots)
        except KernelFailure as error:
            problem = " ".join(error.failure.message.splitlines()[:2])
            yield Point(contender=name, case=one.case, bytes=one.bytes, problem=problem)
            return
        if not right:
            yield Point(contender=name, case=one.case, bytes=one.bytes, problem=WRONG)
            continue
        yield Point(
            contender=name,
            case=one.case,
            bytes=one.bytes,
            seconds=seconds,
            bandwidth=one.bytes / seconds,
        )


def _timed(kernel: WorkerLink, slots: Slots) -> tuple[float, bool]:
    """Median seconds of a call, and whether the sampled outputs of the first go were right."""
    calls, _ = slots.refill()
    kernel.call(calls)  # compiles, for which it has as long as for all calls
    calls, contents = slots.refill()
    _, right = time_calls(kernel, calls, slots.spare, contents)
    goes = [time_calls(kernel, calls, slots.spare, SlotContents())[0] for _ in range(BATCHES)]
    return statistics.median(one.claimed_s for one in goes) / len(calls), right


def _ceiling(fork_servers: ForkServers, spec: Spec, largest: Size, arena: CudaArena) -> float:
    """Bytes per second of the trusted kernel with the exercise's mix, at the largest size."""
    slots = Slots(spec, scored_case(spec, largest.rows), largest.calls, arena.memory)
    slots.refill()
    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", trusted=True)
    with closing(ReferenceKernel(slots.stream(), fork_server, arena)) as reference:
        return reference.ceiling()


def _peak_flops() -> float | None:
    """float32 operations per second at the highest clock of the multiprocessors."""
    gpu = torch.cuda.get_device_properties(0)
    mhz = nvml.most_sm_mhz(gpu_lock.uuid())
    lanes = LANES.get((gpu.major, gpu.minor))
    if mhz is None or lanes is None:
        return None
    return peak_flops(gpu.multi_processor_count, lanes, mhz * 1e6)


def peak_flops(multiprocessors: int, lanes: int, clock: float) -> float:
    """float32 operations per second, from the clock in Hz: two for each fused multiply-add."""
    return multiprocessors * lanes * 2 * clock
