"""The judge's clock: how long a worker took for some calls, and what of its claim to believe.

One go: the worker gets the argument lists and is stopped, and the inputs are put where they point,
all but what is late. It runs again, calls the kernel on spare rows and stands by, for a process
that slept begins now sooner, now later. The clock starts, what is late is written, without which
whatever was computed before is wrong, and the worker is told to call the kernel on every slot. The
clock stops when the judge has looked at a secret sample of the outputs. Only then is the worker
asked how long each call took by CUDA events: what an honest one does to find out must not be time
that a liar saves. Its times are the more precise, and believed only as far as the judge's own clock
allows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from grader.model import CannotGrade, Failure
from grader.sandbox import Call, KernelFailure, WorkerLink
from grader.speed.reserved_memory import available
from grader.speed.slots import Slots
from grader.speed.spot_checks import Filled

# A round trip to an idle GPU takes 20 µs. When another process computes there, the two take turns,
# of 2 ms and more: what of the GPU is our turn is ours alone.
BUSY_S = 1e-3
ROUND_TRIPS = 15
# How much less than by the judge's clock a worker may claim, and so what a lie can gain. That clock
# may be wrong: on an H200 whose machine graded on three others, too, by 1.0 % in a liar's favour at
# most, and once, of 40 runs of honest kernels, by 1.7 % against one.
TRUST = 0.0075
LEAST_CLAIM = 1e-3  # of the judge's own time: a smaller claim is a lie, and must not divide by zero


@dataclass(frozen=True)
class Go:
    """Seconds of all calls of one go: by the judge's clock, and by the worker's claim.

    `available` are the bytes of the GPU's memory that no worker held when it began.
    """

    window_s: float
    claimed_s: float
    available: int


def go(kernel: WorkerLink, calls: Sequence[Call], spare: Call, filled: Filled) -> tuple[Go, bool]:
    """Carry the calls out; the times, and whether the sampled outputs are right.

    The worker makes the spare one before. Who answers wrong is asked for no times: they count as
    what the judge's clock shows.
    """
    kernel.prepare(calls)
    kernel.stop()
    seen = window(kernel, spare, filled)
    if not seen.right:
        return Go(seen.window_s, seen.window_s, seen.available), False
    return claimed(kernel, len(calls), seen), True


@dataclass(frozen=True)
class Window:
    """One go by the judge's clock: its seconds, what of the GPU's memory was available and whether
    the slots were as the judge had left them when it began, and whether the sampled answers were
    right in the end."""

    window_s: float
    available: int
    untouched: bool
    right: bool


def window(kernel: WorkerLink, spare: Call, filled: Filled) -> Window:
    """Have a stopped worker carry out the calls that it holds, just after it has made another.

    It runs when the clock starts. From the look at the seals until the inputs are complete the GPU
    has other work for some microseconds only: so long may it write what is not seen and not timed.
    """
    filled.all_right()  # for whatever the judge does for the first time takes it longer
    kernel.stand_by(spare)
    free = available()
    began = time.perf_counter()
    untouched = filled.untouched()
    filled.complete()
    torch.cuda.synchronize()
    kernel.go()
    right = filled.all_right()
    return Window(time.perf_counter() - began, free, bool(untouched), right)


def claimed(kernel: WorkerLink, calls: int, seen: Window) -> Go:
    """What the worker says of the calls of a window. Where it says nothing, they count as what the
    judge's clock shows."""
    claims, window_s = kernel.times(), seen.window_s
    # Not the sum: the first call begins later after its event than the others, which were queued.
    claimed_s = calls * statistics.median(claims) if len(claims) == calls else window_s
    claimed_s = min(max(claimed_s, LEAST_CLAIM * window_s), window_s)
    return Go(window_s, claimed_s, seen.available)


def right_go(kernel: WorkerLink, slots: Slots) -> Go:
    """A go with fresh inputs, whose answers must be right.

    Nothing of the worker's runs while the inputs come. Raises KernelFailure when anything was
    written before they were complete, when an answer is wrong, or when the worker's GPU work goes
    on although its calls were over; CannotGrade when another program's does.
    """
    plan = slots.plan()
    kernel.prepare(plan.calls)
    kernel.stop()
    filled = slots.fill(plan)
    must_be_idle(kernel)  # for what it left on the GPU may have waited there for the inputs
    seen = window(kernel, slots.spare, filled)
    if not seen.untouched:
        raise KernelFailure(RESIDENT)
    if not seen.right:
        raise KernelFailure(why_wrong(filled))
    return claimed(kernel, len(plan.calls), seen)


def must_be_idle(kernel: WorkerLink | None) -> None:
    """To be asked of a stopped worker, for that does not stop what it has queued on the GPU; or of
    none, before there is one and when it is gone.

    Raises KernelFailure when its work goes on there, CannotGrade when another program's does.
    """
    if _round_trip_s() < BUSY_S:
        return
    if kernel is not None:
        kernel.close()
        if _round_trip_s() < BUSY_S:
            raise KernelFailure(RESIDENT)
    raise CannotGrade(
        "The GPU computes, although nothing of this check runs on it.",
        "See with `nvidia-smi` which other program does, and check again without it.",
    )


def _round_trip_s() -> float:
    """Seconds from the launch of next to nothing until it is done, the median of some."""
    torch.cuda.synchronize()
    nothing = torch.zeros(1, device="cuda")
    took = []
    for _ in range(ROUND_TRIPS):
        began = time.perf_counter()
        nothing.zero_()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


RESIDENT = Failure(
    kind="early_start",
    message="the kernel's process computes on the GPU between its calls",
    hint="All work must be done when the entry returns and its stream is synchronised: no kernel "
    "may run on and wait for the next inputs.",
)


@dataclass(frozen=True)
class Evidence:
    """The goes by which a worker's claims are judged.

    Those of a trusted worker are from before the kernel's process was started, when it was `alone`,
    and from `beside` the kernel's, in alternation with them.
    """

    alone: Sequence[Go]
    kernel: list[Go] = field(default_factory=list)
    beside: list[Go] = field(default_factory=list)


def believed_s(seen: Evidence) -> float:
    """Seconds of one go: what the worker usually claims, or what the judge's clock allows at least.

    What a trusted worker's goes show beyond its claims is the overhead of telling a worker to go,
    of switching the GPU between processes and of looking at answers. It is that of the kernel's
    goes, too, if both rested equally long. What a quiet go took by the judge's clock, less a quiet
    overhead, was the work of one go. Of the trusted ones those count that had less: work that a
    kernel left on the GPU can make those beside it longer, but none that were before it.
    """
    overhead_s = min(_quiet(_overheads(seen.beside)), _quiet(_overheads(seen.alone)))
    took_s = _quiet(one.window_s for one in seen.kernel) - overhead_s
    return max(_usually_claimed_s(seen), (1 - TRUST) * took_s)


def correction(seen: Evidence) -> float:
    """By what factor, at least 1, a worker's claims have to be raised to be believed."""
    claimed_s = _usually_claimed_s(seen)
    return believed_s(seen) / claimed_s if claimed_s > 0 else float("inf")


def unsteadiness(seen: Evidence) -> float:
    """What part of a go's time `correction` may be off by, as its overhead comes and goes.

    Half of the kernel's goes, or of the trusted ones, had that much more overhead than the one that
    had least, or a worker claims now more, now less.
    """
    trusted = _overheads([*seen.beside, *seen.alone])
    return (_wander(_overheads(seen.kernel)) + _wander(trusted)) / _usual_s(seen)


def shift(seen: Evidence) -> float:
    """What part of a go's time the overhead has grown by since the kernel's process was started.

    The machine may have become busier; or the kernel left work on the GPU, to make it seem so.
    """
    return (_quiet(_overheads(seen.beside)) - _quiet(_overheads(seen.alone))) / _usual_s(seen)


def _usually_claimed_s(seen: Evidence) -> float:
    return statistics.median(one.claimed_s for one in seen.kernel)


def _usual_s(seen: Evidence) -> float:
    return statistics.median(one.window_s for one in seen.kernel)


def _overheads(goes: Iterable[Go]) -> list[float]:
    """Seconds of each go beyond what the worker claims."""
    return [one.window_s - one.claimed_s for one in goes]


def _wander(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) - min(seconds)


def _quiet(seconds: Iterable[float]) -> float:
    """The lower quartile: other load makes most goes longer at worst, and luck few shorter."""
    ordered = sorted(seconds)
    return ordered[len(ordered) // 4]


def why_wrong(filled: Filled) -> Failure:
    """Outputs that were wrong when the worker said it was done: not there yet, or just wrong?"""
    time.sleep(0.5)
    if filled.all_right():
        return Failure(
            kind="early_answer",
            message="the kernel's outputs were not written yet when its call was over",
            hint="All work must be done when the entry returns and its stream is synchronised: "
            "no side stream, no thread, may still be writing.",
        )
    for probe in filled.probes:
        error = probe.error()
        wrong = ~(error <= probe.limit)
        if bool(wrong.any()):
            at = int(wrong.nonzero()[0])
            return Failure(
                kind="wrong_at_scale",
                message="the kernel is wrong on large cases, though right on small ones",
                expected=f"{float(probe.answer[at]):.7g} ± {float(probe.limit[at]):.2g}",
                got=f"{float(probe.memory[probe.index[at]]):.7g}",
                where=f"{int(wrong.sum()):,} of {wrong.numel():,} sampled elements",
                hint="Does an offset overflow 32 bits, or does the grid have a fixed size?",
            )
    return Failure(kind="flaky", message="the kernel's outputs change while nobody runs it")
