"""The speed step: the judge's wall clock, stopped when the judge has seen the answers.

One go: every slot is filled anew, the worker is told to call the kernel on each, and the clock
runs until a secret sample of all outputs is verified. The ceiling is a trusted kernel with the same
mix of reads and writes, timed in the same way, in the same memory, before the learner's worker
starts and after it is gone; the larger of both counts. What it costs to start and stop the clock is
measured with the trusted worker too, because the learner's could be slow at just that, and is
subtracted from both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader import explain
from grader.arena import CudaArena
from grader.link import Call, Executor, KernelFailure, WorkerLink, entry_of
from grader.occupancy import this_gpu
from grader.results import Failure, Speed
from grader.session import Finding, Grading
from grader.sizing import Gpu, Sizing, size
from grader.slots import Probe, Slots, arena_bytes, bytes_per_row, scored_case
from grader.terms import Outcome, StepName
from grader.wire import Launched

GOES = 5
CEILING_GOES = 3  # before, and again after
EMPTY_GOES = 9
WAKE_UPS = 3  # calls of nothing before a go: a worker that slept while slots were filled is slow
IMPOSSIBLE = 1.10  # share of the ceiling that no honest kernel reaches
STREAMS_FILE = Path(__file__).parent / "worker" / "streams.py"


def measure(grading: Grading) -> Finding:
    """Time the kernel on the scored case and hold it against the exercise's gates."""
    grading.executor.close()  # one worker at a time on the GPU
    spec = grading.spec
    # Multiples of 16 elements, so that neither the kernel nor the ceiling has an odd tail.
    sizing = size(survey(), bytes_per_row(spec), multiple=16)
    case = scored_case(spec, sizing.rows)
    arena = CudaArena(arena_bytes(spec, sizing.rows, sizing.calls))
    try:
        slots = Slots(spec, case, sizing.calls, arena)
        before = _yardstick(grading, slots, arena)
        nursery = grading.workshop.nursery(spec.backend, grading.options.device)
        kernel = WorkerLink(entry_of(spec), grading.kernel, nursery, arena)
        try:
            goes = _time(kernel, slots, GOES)
            calls, _ = slots.refill()
            launched = kernel.resources(calls[0])
        finally:
            kernel.close()
        after = _yardstick(grading, slots, arena)
    finally:
        arena.close()
    empty_s = min(before.empty_s, after.empty_s)
    times = [(elapsed - empty_s) / sizing.calls for elapsed in goes]
    return _finding(grading, slots, times, max(before.bandwidth, after.bandwidth), sizing, launched)


def survey() -> Gpu:
    """This GPU's bandwidth (a quick copy), L2 and free memory."""
    properties = torch.cuda.get_device_properties(0)
    free, _ = torch.cuda.mem_get_info()
    count = min(1 << 28, free // 8)
    source, target = torch.empty((2, count), dtype=torch.uint8, device="cuda")
    target.copy_(source)
    start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    stop = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(8):
        target.copy_(source)
    stop.record()
    torch.cuda.synchronize()
    seconds = start.elapsed_time(stop) / 1e3
    del source, target
    torch.cuda.empty_cache()
    return Gpu(bandwidth=8 * 2 * count / seconds, l2=properties.L2_cache_size, free=free)


@dataclass(frozen=True)
class Yardstick:
    """What the trusted worker reaches: bytes per second, and seconds of a go that does little."""

    bandwidth: float
    empty_s: float


def _yardstick(grading: Grading, slots: Slots, arena: CudaArena) -> Yardstick:
    """Time the trusted kernel of the exercise's mix through the same kind of worker."""
    stream = slots.stream()
    nursery = grading.workshop.nursery("triton", grading.options.device)
    link = WorkerLink(stream.entry, STREAMS_FILE.read_bytes(), nursery, arena)
    try:
        link.call([stream.nearly_nothing, *stream.calls])
        goes = []
        for _ in range(CEILING_GOES):
            # Filled and probed as for a kernel, so that the GPU is in the same state; here nothing
            # makes the probes' answers right.
            _, probes = slots.refill()
            goes.append(_seconds(link, stream.calls, probes)[0])
        empty = [_seconds(link, [stream.nearly_nothing], probes)[0] for _ in range(EMPTY_GOES)]
    finally:
        link.close()
    empty_s = statistics.median(empty)
    per_call = (statistics.median(goes) - empty_s) / len(stream.calls)
    return Yardstick(bandwidth=stream.bytes_moved / per_call, empty_s=empty_s)


def _time(executor: Executor, slots: Slots, goes: int) -> list[float]:
    """Seconds of each go, after one to compile and warm up; KernelFailure if an answer is wrong."""
    times = []
    for number in range(goes + 1):
        calls, probes = slots.refill()
        elapsed, right = _seconds(executor, calls, probes)
        if not right:
            raise KernelFailure(_explain(probes))
        if number:
            times.append(elapsed)
    return times


def _seconds(
    executor: Executor, calls: Sequence[Call], probes: Sequence[Probe]
) -> tuple[float, bool]:
    """Seconds from the word go until the sampled outputs have been looked at; are they right?"""
    torch.cuda.synchronize()
    for _ in range(WAKE_UPS):
        executor.call([])
    began = time.perf_counter()
    executor.call(calls)
    right = _all_right(probes)
    return time.perf_counter() - began, right


def _all_right(probes: Sequence[Probe]) -> bool:
    verdicts = [probe.right() for probe in probes]
    torch.cuda.synchronize()
    return all(bool(verdict) for verdict in verdicts)


def _explain(probes: Sequence[Probe]) -> Failure:
    """Outputs that were wrong when the worker said it was done: not there yet, or just wrong?"""
    time.sleep(0.5)
    if _all_right(probes):
        return Failure(
            kind="early_answer",
            message="the kernel's outputs were not written yet when its call was over",
            hint="All work must be done when the entry returns and its stream is synchronised: "
            "no side stream, no thread, may still be writing.",
        )
    for probe in probes:
        error = probe.error()
        wrong = ~(error <= probe.limit)
        if bool(wrong.any()):
            at = int(wrong.nonzero()[0])
            return Failure(
                kind="wrong_at_scale",
                message="the kernel is wrong at the scored size, though right on small cases",
                expected=f"{float(probe.answer[at]):.7g} ± {float(probe.limit[at]):.2g}",
                got=f"{float(probe.memory[probe.index[at]]):.7g}",
                where=f"{int(wrong.sum()):,} of {wrong.numel():,} sampled elements",
                hint="Does an offset overflow 32 bits, or does the grid have a fixed size?",
            )
    return Failure(kind="flaky", message="the kernel's outputs change while nobody runs it")


def _finding(
    grading: Grading,
    slots: Slots,
    times: Sequence[float],
    ceiling: float,
    sizing: Sizing,
    launched: Sequence[Launched],
) -> Finding:
    spec, seconds = grading.spec, statistics.median(times)
    bandwidth = slots.least_bytes / seconds
    share = bandwidth / ceiling
    speed = Speed(
        case=slots.case.headline,
        bytes_moved=slots.least_bytes,
        time_ms=seconds * 1e3,
        bandwidth_gbps=bandwidth / 1e9,
        ceiling_gbps=ceiling / 1e9,
        share=share,
        passing=spec.gates.passing,
        great=spec.gates.great,
        goes=len(times),
        calls_per_go=sizing.calls,
    )
    tried = f"{speed.case}: {bandwidth / 1e9:,.0f} GB/s, {share:.1%} of the ceiling"
    failure = _judge(spec.gates.passing, share)
    if failure is None or failure.kind == "too_slow":
        counted = grading.steps[StepName.TRAFFIC].traffic
        speed = explain.add_to(speed, spec, counted, slots.sizes, launched, this_gpu())
    if failure is not None and speed.explanation:
        failure = failure.model_copy(update={"hint": speed.explanation[0]})
    if failure is not None:
        return Finding(tried, failure, Outcome.FAIL, speed)
    return Finding(tried, speed=speed)


def _judge(passing: float, share: float) -> Failure | None:
    if share > IMPOSSIBLE:
        return Failure(
            kind="impossible",
            message=f"{share:.0%} of what this GPU's memory can deliver: some of the work that the "
            "task asks for was not done",
            expected=f"at most {IMPOSSIBLE:.0%} of the ceiling",
            got=f"{share:.1%}",
        )
    if share < passing:
        return Failure(
            kind="too_slow",
            message=f"right, but too slow: {share:.1%} of the ceiling",
            expected=f"at least {passing:.0%} of the ceiling",
            got=f"{share:.1%}",
        )
    return None
