"""`grader bench`: time a kernel, torch and the model solution on a GPU, over a range of sizes.

Nothing is graded: each worker records the CUDA events that time its own calls, and a worker that
lies fools only the person who runs it. Each output is still checked, once for each size.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import torch
from torch import Tensor

from grader import backends
from grader.course import Exercise
from grader.grading.bench_contenders import SIZES, Contender
from grader.grading.bench_record import WRONG, Benchmark, Point, Size
from grader.machine import choose_device, environment, gpu_lock, nvml
from grader.model import CannotGrade, Spec
from grader.sandbox import CudaArena, ForkServers, KernelFailure, WorkerLink, entry_of
from grader.speed import (
    L2_MULTIPLE,
    MEMORY_SHARE,
    Gpu,
    SlotContents,
    Slots,
    arena_bytes,
    bytes_per_row,
    ceilings,
    rounds,
    scored_case,
    size,
    survey,
    time_calls,
    usually_needed,
)
from grader.speed import sizes as tensor_sizes

SMALLEST = 2**20  # bytes of arguments
BATCHES = 3
# Calls of a batch. The first includes the time to launch it, and must not be the median.
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


def run(
    exercise: Exercise,
    entrants: Sequence[Contender],
    progress: Callable[[str], None],
    gpu_memory: int | None = None,
) -> Benchmark:
    """Measure every contender at every size, in at most `gpu_memory` bytes of the GPU.

    Raises CannotGrade without a CUDA GPU, or when another check holds the GPU.
    """
    require_gpu()
    with gpu_lock.exclusive_gpu(), closing(ForkServers()) as fork_servers:
        spec = exercise.spec
        sizes = plan(spec, survey(gpu_memory))
        points: list[Point] = []
        arena_size = max(arena_bytes(spec, one.rows, one.calls) for one in sizes)
        with closing(CudaArena(arena_size)) as arena:
            progress("the ceiling")
            highest = ceiling(fork_servers, spec, sizes[-1], arena)
            for entrant in entrants:
                written = exercise.for_file(entrant.kernel).spec
                fork_server = fork_servers.fork_server(written.backend, "cuda")
                link = WorkerLink(entry_of(spec), entrant.kernel, fork_server, arena)
                with closing(link):
                    for point in measured(spec, entrant.name, sizes, link, arena.memory):
                        points.append(point)
                        progress(f"{point.contender}: {point.case}")
            highest = max(highest, ceiling(fork_servers, spec, sizes[-1], arena))
    return Benchmark(
        exercise=exercise.name,
        title=spec.title,
        environment=environment("cuda"),
        ceiling=highest,
        peak_flops=_peak_flops(),
        sizes=tuple(sizes),
        contenders=tuple(one.name for one in entrants),
        points=tuple(points),
    )


def require_gpu() -> None:
    try:
        choose_device("cuda")
    except CannotGrade as error:
        raise CannotGrade(
            f"`grader bench` needs a CUDA GPU. {error.message}",
            "Nothing that is simulated has a speed: measure on a machine with a CUDA GPU.",
        ) from None


def plan(spec: Spec, gpu: Gpu) -> list[Size]:
    """Space sizes geometrically, from SMALLEST bytes of arguments to those of the scored case.

    A batch is LEAST_SLOTS to MOST_SLOTS calls, each on memory of its own. Within these limits and
    the free memory, a batch uses more memory than L2_MULTIPLE L2 caches hold.
    """
    per_row = bytes_per_row(spec)
    largest = size(gpu, per_row, multiple=ROW_MULTIPLE, rounds=rounds(spec)).rows
    smallest = min(max(1, SMALLEST // per_row), largest)
    budget = int(MEMORY_SHARE * gpu.free)
    sizes: list[Size] = []
    for step in range(SIZES):
        rows = round(smallest * (largest / smallest) ** (step / (SIZES - 1)))
        if not spec.timed[0].extents:
            rows = max(1, rows // ROW_MULTIPLE) * ROW_MULTIPLE
        if sizes and rows <= sizes[-1].rows:
            continue
        held = rows * per_row
        enough = max(LEAST_SLOTS, math.ceil(L2_MULTIPLE * gpu.l2 / held))
        calls = min(MOST_SLOTS, enough, budget // held)
        case = scored_case(spec, rows)
        sizes.append(
            Size(
                rows=rows,
                case=case.headline,
                bytes=sum(spec.least_bytes(usually_needed(spec, tensor_sizes(spec, rows)))),
                flops=None if spec.flops is None else spec.flops(case),
                calls=max(1, calls),
                l2_multiple=max(1, calls) * held / gpu.l2,
            )
        )
    return sizes


def measured(
    spec: Spec, name: str, sizes: Sequence[Size], kernel: WorkerLink, memory: Tensor
) -> Iterator[Point]:
    """Yield a point for each size, up to the first at which the call itself fails."""
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
    """Return the median seconds of a call, and whether the first batch's spot checks were right."""
    calls, _ = slots.refill()
    kernel.call(calls)  # compiles, for which it has as long as for all calls
    calls, contents = slots.refill()
    _, right = time_calls(kernel, calls, slots.spare, contents)
    batches = [time_calls(kernel, calls, slots.spare, SlotContents())[0] for _ in range(BATCHES)]
    return statistics.median(one.claimed_s for one in batches) / len(calls), right


def ceiling(fork_servers: ForkServers, spec: Spec, largest: Size, arena: CudaArena) -> float:
    """Return the reference kernel's bytes per second, of the same mix and the largest size."""
    slots = Slots(spec, scored_case(spec, largest.rows), largest.calls, arena.memory)
    slots.refill()
    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    with closing(ceilings.moving(slots, fork_server, arena)) as reference:
        return reference.ceiling()


def _peak_flops() -> float | None:
    gpu = torch.cuda.get_device_properties(0)
    mhz = nvml.most_sm_mhz(gpu_lock.uuid())
    lanes = LANES.get((gpu.major, gpu.minor))
    if mhz is None or lanes is None:
        return None
    return peak_flops(gpu.multi_processor_count, lanes, mhz * 1e6)


def peak_flops(multiprocessors: int, lanes: int, clock: float) -> float:
    """Return float32 operations per second, two for each fused multiply-add; `clock` is in Hz."""
    return multiprocessors * lanes * 2 * clock
