"""`grader bench`: a kernel beside torch and the model solution, over a range of sizes.

Nothing is graded here: each call is timed by CUDA events that its own worker records, and a worker
that lies fools only who runs it. Outputs are checked all the same, once for each size.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.arena import Arena, CudaArena
from grader.course import Exercise
from grader.errors import CannotGrade, GraderError, UsageError
from grader.link import Executor, KernelFailure, WorkerLink, entry_of
from grader.machine import choose_device
from grader.results import Environment
from grader.session import Workshop, environment
from grader.sizing import L2_MULTIPLE, MEMORY_SHARE, Gpu, size
from grader.slots import Slots, arena_bytes, bytes_per_row, scored_case
from grader.spec import Spec
from grader.timing import STREAMS_FILE, survey

SMALLEST = 2**20  # bytes of arguments
SIZES = 8
GOES = 3
MOST_SLOTS = 64
ROW_MULTIPLE = 16  # elements of a 1-D argument, so that no kernel has an odd tail

# float32 results per clock and multiprocessor, by compute capability: CUDA C++ Programming Guide,
# "Throughput of Native Arithmetic Instructions"; all others since 8.6 have 128. A fused
# multiply-add counts as two operations.
FEWER_LANES = {(7, 5): 64, (8, 0): 64}
LANES = 128


@dataclass(frozen=True)
class Contender:
    """A kernel file under a name that a table and a picture can show."""

    name: str
    kernel: bytes


@dataclass(frozen=True)
class Size:
    """One size: its case, and the least bytes and operations of a call (None: not declared).

    `l2_multiple` is the size of all arguments of a go, in L2 caches: far above 1, no cache helps.
    """

    rows: int
    case: str
    bytes: int
    flops: int | None
    calls: int
    l2_multiple: float


@dataclass(frozen=True)
class Point:
    """One contender at one size: median seconds of a call and bytes per second, or the problem."""

    contender: str
    case: str
    bytes: int
    seconds: float | None = None
    bandwidth: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Benchmark:
    """The record of one `grader bench`. Bandwidths are bytes per second.

    `ceiling` is what a trusted kernel with the exercise's mix of reads and writes reaches at the
    largest size; `peak_flops` is float32 operations per second at the highest clock, or None where
    the driver does not tell the clock.
    """

    exercise: str
    title: str
    environment: Environment
    ceiling: float
    peak_flops: float | None
    sizes: tuple[Size, ...]
    contenders: tuple[str, ...]
    points: tuple[Point, ...]
    schema: str = "grader/bench/v1"

    @property
    def ridge(self) -> float | None:
        """Operations per byte at which memory and arithmetic limit a kernel alike."""
        return None if self.peak_flops is None else self.peak_flops / self.ceiling


def contenders(exercise: Exercise, kernel: Path, against: Sequence[Path]) -> list[Contender]:
    """Who takes part. Raises UsageError when a named file cannot be read."""
    found = [Contender("your kernel", _read(kernel))]
    eager = exercise.folder / "eager.py"
    if eager.exists():
        text = eager.read_bytes()
        found.append(Contender("torch eager", text))
        found.append(Contender("torch.compile", text + compiled(exercise.spec).encode()))
    if exercise.solution.exists() and exercise.solution.resolve() != kernel.resolve():
        found.append(Contender("solution", exercise.solution.read_bytes()))
    names = [path.stem if path.stem != "kernel" else str(path) for path in against]
    for name, path in zip(names, against, strict=True):
        taken = {one.name for one in found}
        found.append(Contender(str(path) if name in taken else name, _read(path)))
    return found


def compiled(spec: Spec) -> str:
    """What turns the text of an `eager.py` into its torch.compile form, put at its end.

    A numba entry converts its arguments first and is no work for a compiler: what is compiled is
    the function on tensors that it calls.
    """
    name = spec.entry if spec.backend == "triton" else f"{spec.entry}_tensors"
    return f"""

import torch._dynamo
import torch._inductor.config

torch._dynamo.config.recompile_limit = {2 * MOST_SLOTS}  # each size is compiled for itself
torch._inductor.config.compile_threads = 1  # in this process: a pool would outlive the call
{name} = torch.compile({name}, dynamic=False)
"""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The kernel file {path} cannot be read: {error.strerror}.", "Check its path."
        ) from None


def run(
    exercise: Exercise, entrants: Sequence[Contender], progress: Callable[[str], None]
) -> Benchmark:
    """Measure every contender at every size. Raises CannotGrade without a CUDA GPU."""
    require_gpu()
    spec, gpu = exercise.spec, survey()
    sizes = plan(spec, gpu)
    arena = CudaArena(max(arena_bytes(spec, one.rows, one.calls) for one in sizes))
    workshop = Workshop()
    points: list[Point] = []
    try:
        progress("the ceiling")
        ceiling = _ceiling(workshop, spec, sizes[-1], arena)
        for entrant in entrants:
            nursery = workshop.nursery(spec.backend, "cuda")
            link = WorkerLink(entry_of(spec), entrant.kernel, nursery, arena)
            try:
                for point in measured(spec, entrant.name, sizes, link, arena):
                    points.append(point)
                    progress(f"{point.contender}: {point.case}")
            finally:
                link.close()
    finally:
        workshop.close()
        arena.close()
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
            error.message.replace("to grade on", "to measure on"),
            "`grader bench` needs a CUDA GPU: nothing that is simulated has a speed.",
        ) from None


def plan(spec: Spec, gpu: Gpu) -> list[Size]:
    """Sizes in geometric steps from SMALLEST bytes of arguments to those of the scored case.

    A go is at most MOST_SLOTS calls, each on memory of its own, and as many as exceed L2_MULTIPLE
    L2 caches together where they and the free memory allow it.
    """
    per_row = bytes_per_row(spec)
    largest = size(gpu, per_row, multiple=ROW_MULTIPLE).rows
    smallest = min(max(1, SMALLEST // per_row), largest)
    room = int(MEMORY_SHARE * gpu.free)
    sizes = []
    for step in range(SIZES):
        rows = round(smallest * (largest / smallest) ** (step / (SIZES - 1)))
        if spec.scored.columns is None:
            rows = max(1, rows // ROW_MULTIPLE) * ROW_MULTIPLE
        if sizes and rows <= sizes[-1].rows:
            continue
        held = rows * per_row
        calls = min(MOST_SLOTS, math.ceil(L2_MULTIPLE * gpu.l2 / held), room // held)
        case = scored_case(spec, rows)
        sizes.append(
            Size(
                rows=rows,
                case=case.headline,
                bytes=_least_bytes(spec, rows),
                flops=None if spec.flops is None else spec.flops(case),
                calls=max(1, calls),
                l2_multiple=max(1, calls) * held / gpu.l2,
            )
        )
    return sizes


def _least_bytes(spec: Spec, rows: int) -> int:
    """The least bytes of a call: those of a small case, in proportion."""
    from grader.inputs import LargeDraw
    from grader.slots import arguments

    few = scored_case(spec, 64)
    one = arguments(spec, few, LargeDraw(few, "cpu", 0))
    sizes = {name: v.numel() * v.element_size() for name, v in one.items() if hasattr(v, "numel")}
    for name, value in one.items():
        if name in sizes and value.shape[0] == 64:  # type: ignore[union-attr]
            sizes[name] = sizes[name] // 64 * rows
    return sum(spec.least_bytes(sizes))


def measured(
    spec: Spec, name: str, sizes: Sequence[Size], executor: Executor, arena: Arena
) -> Iterator[Point]:
    """One contender's points; after a failure of the call itself, the sizes left are not tried."""
    for one in sizes:
        slots = Slots(spec, scored_case(spec, one.rows), one.calls, arena)
        try:
            seconds, right = _timed(executor, slots)
        except KernelFailure as error:
            yield Point(name, one.case, one.bytes, problem=error.failure.message)
            return
        if not right:
            yield Point(name, one.case, one.bytes, problem="wrong")
            continue
        yield Point(name, one.case, one.bytes, seconds, one.bytes / seconds)


def _timed(executor: Executor, slots: Slots) -> tuple[float, bool]:
    """Median seconds of a call, and whether the sampled outputs of the first go were right."""
    calls, probes = slots.refill()
    executor.call(calls)  # compiles and warms up
    right = all(bool(probe.right()) for probe in probes)
    times = [seconds for _ in range(GOES) for seconds in executor.call(calls)]
    if not times:
        raise GraderError("The worker did not time its calls.")
    return statistics.median(times), right


def _ceiling(workshop: Workshop, spec: Spec, largest: Size, arena: Arena) -> float:
    """Bytes per second of the trusted kernel with the exercise's mix, at the largest size."""
    slots = Slots(spec, scored_case(spec, largest.rows), largest.calls, arena)
    slots.refill()
    stream = slots.stream()
    nursery = workshop.nursery("triton", "cuda")
    link = WorkerLink(stream.entry, STREAMS_FILE.read_bytes(), nursery, arena)
    try:
        link.call(stream.calls)
        times = [seconds for _ in range(GOES) for seconds in link.call(stream.calls)]
    finally:
        link.close()
    return stream.bytes_moved / statistics.median(times)


def _peak_flops() -> float | None:
    """float32 operations per second at the highest clock of the multiprocessors."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    clock = _max_clock(str(properties.uuid))
    if clock is None:
        return None
    return peak_flops(properties.multi_processor_count, (properties.major, properties.minor), clock)


def peak_flops(multiprocessors: int, capability: tuple[int, int], clock: float) -> float:
    """float32 operations per second, from the clock in Hz: two for each fused multiply-add."""
    return multiprocessors * FEWER_LANES.get(capability, LANES) * 2 * clock


def _max_clock(uuid: str) -> float | None:
    """Hz, or None: a figure for the reader, without which there is a picture all the same."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.removeprefix('GPU-')}")
        return float(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM)) * 1e6
    except Exception:
        return None
