"""The judge's clock: the time that a worker took for a batch of calls, checked against its claim.

One batch goes like this. The worker receives the argument lists and is stopped. The judge writes
the inputs, except for the withheld ones. The worker runs again, calls the kernel on spare rows and
waits. Without this warm-up, the time it takes to start would vary. The clock starts. The judge
writes the withheld inputs; without them, all that was computed before is wrong. The worker then
calls the kernel on every slot. The clock stops when the judge has compared a secret sample of the
outputs.

Only then does the judge ask how long each call took by CUDA events. An honest worker needs time to
find out; if that time were measured, a lying worker would save it. The worker's times are the more
precise ones. The judge accepts them only as far as its own clock allows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from grader.correctness import expected_text, number_text, widened
from grader.model import CannotGrade, Failure
from grader.sandbox import Call, KernelFailure, WorkerLink
from grader.speed.reserved_memory import available
from grader.speed.slots import Slots
from grader.speed.spot_checks import SlotContents
from grader.speed.statistics import interval

# A round trip to an idle GPU takes 20 µs. When another process computes there, the two take turns
# of 2 ms and more: during our time slice nobody else uses the GPU.
BUSY_S = 1e-3
ROUND_TRIPS = 15
# A worker may claim this part less than the judge's clock shows; a lie gains at most as much. The
# judge's clock has errors of its own. On an H200, while its machine graded on three others, too, it
# erred by at most 1.0 % in favour of a lying worker. In one of 40 runs of honest kernels it erred
# by 1.7 % against the kernel.
MAX_UNDERCLAIM = 0.0075
# The same for one paired batch, whose overhead varies. In 24 such pairs on an H100's host the clock
# showed 26 % more than one honest claim, and at most 15 % more than the others
# (bench/results/latency_cores_h100.json). This limit raises claims from 25 % on.
MAX_UNDERCLAIM_ONCE = 0.2
LATE_S = 0.5  # after which work that a kernel left behind has written its outputs
MIN_CLAIM = 1e-3  # of the judge's time: a smaller claim is a lie, and must not divide by zero


@dataclass(frozen=True)
class BatchTime:
    """Seconds of one batch of calls: by the judge's clock, and by the worker's claim.

    `available` is the number of bytes of GPU memory that no worker held when the batch began.
    """

    window_s: float
    claimed_s: float
    available: int


def time_calls(
    kernel: WorkerLink, calls: Sequence[Call], spare: Call, contents: SlotContents
) -> tuple[BatchTime, bool]:
    """Run the calls after a spare one; return the times, and whether the sampled outputs are right.

    If an output is wrong, the worker's times are ignored: the judge's clock counts.
    """
    kernel.prepare(calls)
    kernel.stop()
    measured = window(kernel, spare, contents)
    if not measured.right:
        return BatchTime(measured.window_s, measured.window_s, measured.available), False
    return claimed_time(kernel, len(calls), measured), True


@dataclass(frozen=True)
class Window:
    """One batch by the judge's clock.

    `window_s` is in seconds. `available` is the number of free bytes of GPU memory at the start.
    `untouched` says that the slots were as the judge had left them when the clock started, `right`
    that the sampled outputs were right at the end.
    """

    window_s: float
    available: int
    untouched: bool
    right: bool


def window(kernel: WorkerLink, spare: Call, contents: SlotContents) -> Window:
    """Have a stopped worker make a spare call, then time the calls that it holds.

    The worker runs when the clock starts. Between the look at the canaries and the last input, the
    GPU does other work for only some microseconds. Within that time the worker could write unseen
    and untimed.
    """
    contents.outputs_right()  # what the judge does for the first time takes longer
    kernel.stand_by(spare)
    free = available()
    began = time.perf_counter()
    untouched = contents.untouched()
    contents.complete()
    torch.cuda.synchronize()
    kernel.go()
    right = contents.outputs_right()
    return Window(time.perf_counter() - began, free, bool(untouched), right)


def claimed_time(kernel: WorkerLink, calls: int, measured: Window) -> BatchTime:
    """Ask the worker for the times of a window's calls; without them the judge's clock counts."""
    claims, window_s = kernel.times(), measured.window_s
    # Not the sum: the first call starts later after its event than the others, which were queued.
    claimed_s = calls * statistics.median(claims) if len(claims) == calls else window_s
    claimed_s = min(max(claimed_s, MIN_CLAIM * window_s), window_s)
    return BatchTime(window_s, claimed_s, measured.available)


def time_batch(kernel: WorkerLink, slots: Slots) -> BatchTime:
    """Time a batch on fresh inputs; its outputs must be right.

    Nothing of the worker runs while the judge writes the inputs. Raises KernelFailure when
    something was written before the inputs were complete, when an output is wrong, or when the
    worker's GPU work continues after its calls. Raises CannotGrade when another program computes on
    the GPU.
    """
    plan = slots.plan()
    kernel.prepare(plan.calls)
    kernel.stop()
    contents = slots.fill(plan)
    require_idle_gpu(kernel)  # work that it left on the GPU may have waited there for the inputs
    measured = window(kernel, slots.spare, contents)
    if not measured.untouched:
        raise KernelFailure(RUNS_BETWEEN_CALLS)
    if not measured.right:
        raise KernelFailure(wrong_output(contents))
    return claimed_time(kernel, len(plan.calls), measured)


def require_idle_gpu(kernel: WorkerLink | None) -> None:
    """Refuse to time anything while the GPU computes.

    The worker has been stopped, but that does not stop what it queued on the GPU. Without a worker
    there is none yet, or it has ended. Raises KernelFailure when the worker's work continues there,
    CannotGrade when another program's does.
    """
    if _median_round_trip_s() < BUSY_S:
        return
    if kernel is not None:
        kernel.close()
        if _median_round_trip_s() < BUSY_S:
            raise KernelFailure(RUNS_BETWEEN_CALLS)
    raise CannotGrade(
        "The GPU is busy, although this check runs nothing on it now.",
        "`nvidia-smi` shows which other program uses it; check again without that program.",
    )


def _median_round_trip_s() -> float:
    torch.cuda.synchronize()
    nothing = torch.zeros(1, device="cuda")
    took = []
    for _ in range(ROUND_TRIPS):
        began = time.perf_counter()
        nothing.zero_()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


RUNS_BETWEEN_CALLS = Failure(
    kind="early_start",
    message="the kernel's process computes on the GPU between its calls",
    hint="All work must be done when the entry returns and its stream is synchronised: no kernel "
    "may keep running and wait for the next inputs.",
)


@dataclass(frozen=True)
class Evidence:
    """The batches by which a worker's claims are checked.

    The reference kernel's batches are from before the kernel's process was started, when it was
    `alone`, and from `beside` the kernel's, in alternation with them. Where they are `paired`, each
    batch of the kernel is compared only with the one beside it.
    """

    alone: Sequence[BatchTime]
    kernel: list[BatchTime] = field(default_factory=list)
    beside: list[BatchTime] = field(default_factory=list)
    paired: bool = False


def corrected_s(evidence: Evidence) -> float:
    """Return seconds of one batch: the usual claim, or more where the judge's clock demands it.

    The reference kernel's batches take longer by the judge's clock than the worker claims. The
    difference is overhead: starting the worker, switching the GPU between processes, and comparing
    outputs. The learner's batches have the same overhead if both workers rested equally long.
    """
    work_s = _least_work_s(evidence) if evidence.paired else _quiet_work_s(evidence)
    return max(_median_claim_s(evidence), (1 - MAX_UNDERCLAIM) * work_s)


def _quiet_work_s(evidence: Evidence) -> float:
    """Return the work of one batch: a quiet one by the judge's clock, less a quiet overhead.

    The smaller of the reference kernel's two overheads counts: work that a kernel left on the GPU
    can slow down the batches beside it, but none before it.
    """
    overhead_s = min(
        _lower_quartile(_overheads_s(evidence.beside)),
        _lower_quartile(_overheads_s(evidence.alone)),
    )
    return _lower_quartile(one.window_s for one in evidence.kernel) - overhead_s


def _least_work_s(evidence: Evidence) -> float:
    """Return the least that the work of one batch takes, where batches are short.

    Their overhead varies, and is half as long as their work. So the overhead of the reference's
    batch beside it is subtracted from each. The lower end of the median's interval counts.
    """
    return interval(_works_s(evidence))[0]


def _works_s(evidence: Evidence) -> list[float]:
    beside, alone = map(_overheads_s, (evidence.beside, evidence.alone))
    grown_s = max(0.0, _lower_quartile(beside) - _lower_quartile(alone))
    pairs = zip(evidence.kernel, beside, strict=True)
    return [one.window_s - overhead_s + grown_s for one, overhead_s in pairs]


def correction(evidence: Evidence) -> float:
    """Return the factor, at least 1, by which a worker's claims are raised."""
    claimed_s = _median_claim_s(evidence)
    return corrected_s(evidence) / claimed_s if claimed_s > 0 else float("inf")


def corrections_once(evidence: Evidence) -> list[float]:
    """Return the factor, at least 1, by which the claim of each paired batch is raised."""
    pairs = zip(evidence.kernel, _works_s(evidence), strict=True)
    return [max(1.0, (1 - MAX_UNDERCLAIM_ONCE) * work_s / one.claimed_s) for one, work_s in pairs]


def overhead_spread(evidence: Evidence) -> float:
    """Return the possible error of `correction` from varying overhead, as a part of a batch's time.

    Half of the kernel's batches, or of the reference kernel's, had that much more overhead than the
    one with the least. The cause may also be a worker whose claims vary.
    """
    reference = _overheads_s([*evidence.beside, *evidence.alone])
    return (
        _median_excess(_overheads_s(evidence.kernel)) + _median_excess(reference)
    ) / _median_window_s(evidence)


def overhead_growth(evidence: Evidence) -> float:
    """Return the growth of the overhead since the kernel's start, as a part of a batch's time.

    Either the machine became busier, or the kernel left work on the GPU that looks like it.
    """
    return (
        _lower_quartile(_overheads_s(evidence.beside))
        - _lower_quartile(_overheads_s(evidence.alone))
    ) / _median_window_s(evidence)


def _median_claim_s(evidence: Evidence) -> float:
    return statistics.median(one.claimed_s for one in evidence.kernel)


def _median_window_s(evidence: Evidence) -> float:
    return statistics.median(one.window_s for one in evidence.kernel)


def _overheads_s(batches: Iterable[BatchTime]) -> list[float]:
    return [one.window_s - one.claimed_s for one in batches]


def _median_excess(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) - min(seconds)


def _lower_quartile(seconds: Iterable[float]) -> float:
    """Return the lower quartile: other load makes most batches longer, and luck few shorter."""
    ordered = sorted(seconds)
    return ordered[len(ordered) // 4]


def wrong_output(contents: SlotContents) -> Failure:
    time.sleep(LATE_S)
    if contents.outputs_right():  # now they are: they were written late
        return Failure(
            kind="early_answer",
            message="the kernel's outputs were not written yet when its call was over",
            hint="All work must be done when the entry returns and its stream is synchronised: "
            "no side stream, no thread, may still be writing.",
        )
    for check in contents.spot_checks:
        met = check.met()
        wrong = ~(met.error() <= met.limit)
        if bool(wrong.any()):
            at, dtype = int(wrong.nonzero()[0]), met.memory.dtype
            return Failure(
                kind="wrong_at_scale",
                message="the kernel is wrong on large cases, though right on small ones",
                expected=expected_text(met.answer[at].item(), met.limit[at].item(), dtype),
                got=number_text(widened(met.held()[at]).item(), dtype),
                where=f"{int(wrong.sum()):,} of {wrong.numel():,} sampled elements",
                hint="Does an offset overflow 32 bits, or does the grid have a fixed size?",
            )
        if not bool(check.right()):
            return Failure(
                kind="share",
                message="on large cases the kernel draws its choices in other shares than asked",
                hint="Does the probability, or the seed, reach every program?",
            )
    return Failure(kind="flaky", message="the kernel's outputs change while nobody runs it")
