"""The speed step: the kernel's share of this GPU's ceiling, and how certain that share is.

Cycles of the learner's kernel and a reference kernel run until a sequential test has decided on
which side of the gate the share lies (`grader.speed.alternation`). A cause of noise
(`grader.speed.noise`) makes the step `noisy`, never a failure.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass

from torch import Tensor

from grader.correctness import no_kernel_failure
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.speed.verdict import finding, hopeless, together
from grader.machine import devices, gpu_lock, nvml, one_core
from grader.model import (
    BrokenExercise,
    Case,
    Clocks,
    Failure,
    Launched,
    Memory,
    Outcome,
    Roof,
    Spec,
    Speed,
    percent,
)
from grader.sandbox import Call, CudaArena, KernelFailure, WorkerLink, entry_of
from grader.speed import (
    BATCHES,
    BatchTime,
    Bound,
    Reference,
    Samples,
    Sizing,
    SlotContents,
    Slots,
    alternate,
    arena_bytes,
    bound_of,
    corrected_rate,
    corrected_s,
    corrected_shares,
    correction,
    cycle_by_cycle,
    decide,
    excess_memory,
    interval_of_runs,
    noise_cause,
    reserved_memory,
    scored_case,
    this_gpu,
    time_batch,
    time_calls,
    time_reference_batches,
)

HOPELESS = 0.1  # of the ceiling: a kernel that slow by its quickest call needs no precision
# Single calls, begun within so many seconds: beside a busy host, one of 1 ms seemed to take 30 ms.
TRIES, TRIES_S = 3, 1.0
# Seconds. A batch that seems no longer decides, not a single call: where a host graded on three
# other GPUs, each of three calls of 1 ms seemed to take 10 ms.
ROUGH_BATCH_S = 2.0
# Measurements of a scored case, until one is not disturbed.
UNDISTURBED_TRIES = 3
# Seconds. Of a shorter batch, too much is the time to start and stop the clock.
LEAST_BATCH_S = 4e-3
# A loaded kernel may lower the ceiling by this part; anything beyond it is subtracted from its
# share.
HELD_DOWN = 0.005
ALONE = (
    9  # batches of the reference kernel before the learner's starts; 5 show less of the overhead
)
SMALL, SMALL_CALLS = 1024, 64  # elements, and calls, of the case that shows the latency


def measure(grading: Grading) -> Finding:
    """Time the kernel on each scored case and compare it with the exercise's gates.

    Raises KernelFailure when the kernel fails at that size, CannotGrade when the GPU is taken.
    """
    grading.executor.close()  # its memory is needed
    with gpu_lock.exclusive_gpu():
        others = gpu_lock.others()
        sizings = [(spec, grading.sizing_of(spec)) for spec in grading.spec.scored_specs]
        size = max(arena_bytes(spec, sizing.rows, sizing.calls) for spec, sizing in sizings)
        with closing(CudaArena(size)) as arena:
            return together([_of_case(grading, arena, *one, others) for one in sizings])


def _of_case(
    grading: Grading, arena: CudaArena, spec: Spec, sizing: Sizing, others: Sequence[nvml.Process]
) -> tuple[str, Finding]:
    """Measure one scored case, in a worker of its own; return its words, and what was found."""
    case = scored_case(spec, sizing.rows)
    try:
        slots = Slots(spec, case, sizing.calls, arena.memory)
        return case.headline, _undisturbed(
            lambda: _measure(grading, slots, arena, sizing, others), bool(others)
        )
    except KernelFailure as error:
        if len(grading.spec.scored_specs) == 1:
            raise
        named = error.failure.model_copy(update={"case": case.headline})
        raise KernelFailure(named) from error


def _undisturbed(measured: Callable[[], Finding], others: bool) -> Finding:
    """Measure until nothing disturbs it, a few times at most; once if another program stays."""
    found = measured()
    for _ in range(1, UNDISTURBED_TRIES):
        if others or found.failure is None or found.failure.kind != "noisy":
            break
        found = measured()
    return found


def _measure(
    grading: Grading, slots: Slots, arena: CudaArena, sizing: Sizing, others: Sequence[nvml.Process]
) -> Finding:
    # Torch may still have what an earlier measurement reserved from its kernel. The judge would
    # take it for memory of its own, reserve more beyond it, and find none. That is probably why 10
    # of 90 measurements of 01 ran out of memory (four_h100s in bench/results/grade_gpus.json).
    devices.release_cached_memory()
    bound, (_, gates) = bound_of(slots.spec), slots.spec.timed
    host = one_core() if bound.by_host else nullcontext(_as_it_is)
    with host as keep, closing(bound.reference(slots, grading.fork_servers, arena)) as reference:
        timed = _timed(grading, slots, arena, bound, reference, keep)
    if isinstance(timed, Finding):
        return timed
    samples, bytes_per_work = timed.samples, slots.least_bytes / bound.work(slots)
    ceiling = fair_ceiling(samples.ceilings, timed.before, timed.after)
    shares, rate = corrected_shares(samples, ceiling), corrected_rate(samples)
    low, high = interval_of_runs(shares, bound.rerun)
    speed = Speed(
        case=slots.case.headline,
        bound=bound.name,
        bytes_moved=slots.least_bytes,
        time_ms=corrected_s(samples.evidence) / sizing.calls * 1e3,
        bandwidth_gbps=rate * bytes_per_work / 1e9,
        ceiling_gbps=ceiling * bytes_per_work / 1e9,
        rate=rate / bound.scale,
        reference_rate=ceiling / bound.scale,
        share=statistics.median(shares),
        share_low=low,
        share_high=high,
        passing=gates.passing,
        great=gates.great,
        goes=len(samples.evidence.kernel),
        calls_per_go=sizing.calls,
        first_call_s=timed.first_s,
        latency_case=timed.latency[0].headline,
        latency_us=timed.latency[1] * 1e6,
        raised=correction(samples.evidence),
        clocks=_clocks(samples.readings),
        roofs=tuple(Roof(name=name, rate=rate / bound.scale) for name, rate in reference.roofs),
    )
    measured = f"{speed.case}: {bound.rate_text(rate)}, {percent(speed.share)} of {bound.held_to}"
    allowed = (bound.steady, bound.leeway, bound.rate_name)
    noise = noise_cause(samples, timed.before, timed.after, others, *allowed)
    noise = noise or excess_memory(timed.available, samples.evidence, _memory(grading))
    if timed.no_kernel is not None:
        return Finding(measured, timed.no_kernel, Outcome.FAIL, speed)
    explained = _explained(grading, bound, speed, slots, timed.launched)
    passed = decide(shares, gates.passing, bound.indifference)
    return finding(bound, measured, speed, explained, passed, noise)


@dataclass(frozen=True)
class _Timed:
    """The measurements of one run of kernel and reference.

    `before` and `after` are rates of the reference while the kernel has no process. `available`
    is the number of free bytes of the GPU before the kernel's first call.
    """

    samples: Samples
    before: float
    after: float
    available: int
    first_s: float
    launched: tuple[Launched, ...]
    latency: tuple[Case, float]
    no_kernel: Failure | None


def _timed(
    grading: Grading,
    slots: Slots,
    arena: CudaArena,
    bound: Bound,
    reference: Reference,
    keep: Callable[[], None],
) -> _Timed | Finding:
    """Measure kernel and reference; `keep` moves their processes to where they are measured."""
    spec, gate = slots.spec, slots.spec.timed[1].passing
    keep()
    calls, contents = slots.refill()
    alone = time_reference_batches(reference, contents, ALONE)
    _require_long_batches(spec, bound, alone)
    before = reference.median_rate(alone)
    calls, contents = slots.refill()  # a reference that calls the slots leaves inputs of its own
    fork_server = grading.fork_servers.fork_server(spec.backend, grading.options.device)
    kernel = WorkerLink(entry_of(spec), grading.kernel, fork_server, arena)
    with closing(kernel):
        kernel.start()
        keep()
        available = reserved_memory.available()
        reserved = _reserved_memory(grading, slots)
        first_s, once_s, launched = _first_calls(kernel, calls, slots.spare, contents)
        rough = bound.work(slots) / once_s / before
        if rough < HOPELESS:
            once_s = _in_a_batch_s(kernel, calls, slots.spare, contents, once_s)
            rough = bound.work(slots) / once_s / before
        if rough < HOPELESS:
            return hopeless(rough, bound)
        samples = alternate(kernel, reference, slots, contents, bound, gate, alone)
        latency = _latency(kernel, spec, arena)
        no_kernel = _without_kernels(kernel, slots, arena) if spec.kernels else None
    del reserved
    later = time_reference_batches(reference, contents, BATCHES)
    if bound.by_host:
        apart = (map(reference.rate, batches) for batches in (alone, later))
        samples, before, after = cycle_by_cycle(samples, *apart)
    else:
        after = reference.median_rate(later)
    return _Timed(samples, before, after, available, first_s, launched, latency, no_kernel)


def _as_it_is() -> None:
    """Leave every process on its cores."""


def _require_long_batches(spec: Spec, bound: Bound, alone: Sequence[BatchTime]) -> None:
    scored, _ = spec.timed
    took_s = statistics.median(batch.claimed_s for batch in alone)
    if scored.rows is not None and not bound.any_length and took_s < LEAST_BATCH_S:
        raise BrokenExercise(
            "The scored case is too small to be timed: a batch of its reference lasts "
            f"{took_s * 1e3:.2g} ms on this GPU.",
            f"Give `Scored` more `rows`: a batch must last {LEAST_BATCH_S * 1e3:.0f} ms or more.",
        )


def _memory(grading: Grading) -> Memory | None:
    watched = grading.steps.get("memory")
    return None if watched is None else watched.memory


def _explained(
    grading: Grading,
    bound: Bound,
    speed: Speed,
    slots: Slots,
    launched: Sequence[Launched],
) -> Speed:
    if bound.explain is None:
        return speed
    watched = grading.steps.get("traffic")  # a backend need not be able to count
    counted = () if watched is None else watched.traffic
    return bound.explain(speed, slots.spec, counted, slots.needed, launched, this_gpu())


def fair_ceiling(beside: Sequence[float], before: float, after: float) -> float:
    """Return the rate of the reference beside the learner's kernel, in work per second.

    If the learner's kernel lowered it by more than HELD_DOWN, the rate before its start or
    after its end counts instead.
    """
    return max(statistics.median(beside), (1 - HELD_DOWN) * max(before, after))


def _reserved_memory(grading: Grading, slots: Slots) -> Tensor | None:
    """Occupy, in hardened mode, the memory that the kernel did not hold in the memory step."""
    if not grading.options.hardened:
        return None
    watched = _memory(grading)
    if watched is None or watched.held_bytes is None:
        return None
    # For a vector the judge makes a float64 for each float32.
    reserved_memory.reserve_for_judge(2 * max(slots.sizes.values()))
    return reserved_memory.reserve_from_kernel(watched.held_bytes)


def _first_calls(
    kernel: WorkerLink, calls: Sequence[Call], spare: Call, contents: SlotContents
) -> tuple[float, float, tuple[Launched, ...]]:
    """Return seconds of the first call, with loading and compiling, and of a quick one after it.

    Also returns the launches of a third call.
    """
    first, second, third, *_ = calls
    began = time.monotonic()
    kernel.call([first])
    first_s = time.monotonic() - began
    # Memory that only the first call needed must not look like a copy (noise.excess_memory).
    kernel.settle()
    return first_s, _quickest_s(kernel, second, spare, contents), kernel.resources(third)


def _quickest_s(kernel: WorkerLink, call: Call, spare: Call, contents: SlotContents) -> float:
    """Return seconds of the quickest of a few calls: no delay of one of them fails a kernel."""
    took: list[float] = []
    began = time.monotonic()
    while not took or (len(took) < TRIES and time.monotonic() - began < TRIES_S):
        took.append(time_calls(kernel, [call], spare, contents)[0].claimed_s)
    return min(took)


def _in_a_batch_s(
    kernel: WorkerLink, calls: Sequence[Call], spare: Call, contents: SlotContents, once_s: float
) -> float:
    """Return seconds of a call among others, or `once_s` where so many would take too long."""
    if once_s * len(calls) > ROUGH_BATCH_S:
        return once_s
    return time_calls(kernel, calls, spare, contents)[0].claimed_s / len(calls)


def _latency(kernel: WorkerLink, spec: Spec, arena: CudaArena) -> tuple[Case, float]:
    """Return a case in which starting the kernel is most of the work, and its seconds per call."""
    scored, _ = spec.timed
    case = Case((*(1 for _ in scored.extents), SMALL), scored.dtype)
    calls, _ = Slots(spec, case, 1, arena.memory).refill()
    kernel.call(calls)  # compiles for this size
    timed = time_batch(kernel, Slots(spec, case, SMALL_CALLS, arena.memory))
    return case, timed.claimed_s / SMALL_CALLS


def _without_kernels(kernel: WorkerLink, slots: Slots, arena: CudaArena) -> Failure | None:
    """Build the failure for sampled outputs that are right with all launches disabled.

    This is the last call of the worker, because its records are worthless afterwards.
    """
    (call,), contents = Slots(slots.spec, slots.case, 1, arena.memory).refill()
    try:
        finished = kernel.without_kernels(call)
    except KernelFailure as error:
        return error.failure
    if not finished:
        return None
    return no_kernel_failure(
        slots.spec,
        (("the sampled outputs", check.share_right()) for check in contents.spot_checks),
    )


def _clocks(readings: Sequence[nvml.Reading]) -> Clocks | None:
    if not readings:
        return None
    return Clocks(
        sm_mhz=(min(r.sm_mhz for r in readings), max(r.sm_mhz for r in readings)),
        memory_mhz=(min(r.memory_mhz for r in readings), max(r.memory_mhz for r in readings)),
        temperature_c=max(r.temperature_c for r in readings),
        slowdowns=tuple(sorted({word for r in readings for word in r.slowdowns})),
    )
