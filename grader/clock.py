"""The judge's clock: how long a worker took for some calls, and what of its claim to believe.

One go: the worker is told to call the kernel on every slot, and the clock runs until the judge has
looked at a secret sample of the outputs. The worker says how long each call took by CUDA events.
Those are the more precise, and believed only as far as the judge's own clock allows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from grader.link import Call, KernelFailure, WorkerLink
from grader.results import Failure
from grader.slots import Probe

WAKE_UPS = 3  # calls of nothing before a go: a worker that slept while slots were filled is slow
# How much less than by the judge's clock a worker may claim: what that clock may be wrong by, and
# so what a lie can gain.
TRUST = 0.01
# Seconds that a go takes at least, so that a claim of nothing is a number to calculate with.
LEAST_S = 1e-9


@dataclass(frozen=True)
class Go:
    """Seconds of all calls of one go: by the judge's clock, and by the worker's claim."""

    window_s: float
    claimed_s: float


def go(kernel: WorkerLink, calls: Sequence[Call], probes: Sequence[Probe]) -> tuple[Go, bool]:
    """Carry the calls out; the times, and whether the sampled outputs are right.

    What a worker does not claim counts as what the judge's clock shows.
    """
    torch.cuda.synchronize()
    for _ in range(WAKE_UPS):
        kernel.call([])
    kernel.prepare(calls)
    began = time.perf_counter()
    claims = kernel.go()
    right = all_right(probes)
    window_s = time.perf_counter() - began
    claimed_s = sum(claims) if len(claims) == len(calls) else window_s
    return Go(window_s, max(LEAST_S, min(claimed_s, window_s))), right


def all_right(probes: Sequence[Probe]) -> bool:
    verdicts = [probe.right() for probe in probes]
    torch.cuda.synchronize()
    return all(bool(verdict) for verdict in verdicts)


def right_go(kernel: WorkerLink, calls: Sequence[Call], probes: Sequence[Probe]) -> Go:
    """A go whose answers must be right. Raises KernelFailure when they are not."""
    done, right = go(kernel, calls, probes)
    if not right:
        raise KernelFailure(_explain(probes))
    return done


def correction(goes: Sequence[Go], trusted: Sequence[Go]) -> float:
    """By what factor, at least 1, a worker's claims have to be raised to be believed.

    `trusted` are as many goes of a trusted worker, in alternation with these: what they show beyond
    their claims is the overhead of starting and stopping the clock, of switching the GPU between
    processes and of looking at answers. The shortest go by the judge's clock, less the smallest
    overhead, holds the work of one go. Other load on the machine only makes goes longer.
    """
    overhead_s = min(one.window_s - one.claimed_s for one in trusted)
    seen = min(one.window_s for one in goes) - overhead_s
    claimed = statistics.median(one.claimed_s for one in goes)
    return max(1.0, (1 - TRUST) * seen / claimed) if claimed > 0 else float("inf")


def _explain(probes: Sequence[Probe]) -> Failure:
    """Outputs that were wrong when the worker said it was done: not there yet, or just wrong?"""
    time.sleep(0.5)
    if all_right(probes):
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
