"""Timed work of ours in a worker of its own: what a learner's kernel is compared with.

It is ours and needs no checks, so its times are those of CUDA events, without the judge's
correction.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from grader.model import CannotGrade, Failure
from grader.sandbox import CudaArena, ForkServer, KernelFailure, WorkerLink
from grader.speed.bound import ReferenceCalls
from grader.speed.clock import BatchTime, claimed_time, window
from grader.speed.spot_checks import SlotContents

BATCHES = 5  # for one ceiling, after one to compile and warm up
# Seconds. After this rest a process starts as slowly as after 0.4 s: on an H200 it takes 0.2 ms
# longer than without a rest.
REST_S = 0.05
EMPTY = SlotContents()  # nothing to check


class ReferenceFailed(CannotGrade):
    """The worker of what a kernel is compared with failed, which is not the kernel's fault."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"What the kernel's speed is compared with failed: {failure.message}.",
            "Another program may hold the GPU's memory or the processors; `nvidia-smi` and `top` "
            "list it. Check again without that program.",
        )
        self.failure = failure


class ReferenceKernel:
    """Calls of a file of ours, in a worker that lives until `close`.

    Rates and ceilings are in units of work per second. Raises ReferenceFailed when a call fails.
    """

    roofs: Sequence[tuple[str, float]] = ()

    def __init__(
        self, timed: ReferenceCalls, file: bytes, fork_server: ForkServer, arena: CudaArena
    ) -> None:
        self._timed = timed
        self._link = WorkerLink(timed.entry, file, fork_server, arena)
        with _not_blaming_the_kernel():  # the spare call compiles for its size, too
            self._link.call([*timed.calls, timed.spare])
        self._ready_since = time.monotonic()

    def prepare(self) -> None:
        with _not_blaming_the_kernel():
            self._link.prepare(self._timed.calls)
            self._link.stop()
        self._ready_since = time.monotonic()

    def rest(self) -> None:
        time.sleep(max(0.0, self._ready_since + REST_S - time.monotonic()))

    def time_batch(self, contents: SlotContents = EMPTY) -> BatchTime:
        """Call the prepared kernel on every slot. Compare outputs, as after a learner's calls."""
        calls, spare = self._timed.calls, self._timed.spare
        with _not_blaming_the_kernel():
            return claimed_time(self._link, len(calls), window(self._link, spare, contents))

    def rate(self, batch: BatchTime) -> float:
        return self._timed.work * len(self._timed.calls) / batch.claimed_s

    def ceiling(self) -> float:
        batches = []  # with no rest in between
        for _ in range(BATCHES):
            self.prepare()
            batches.append(self.time_batch())
        return self.median_rate(batches)

    def median_rate(self, batches: Sequence[BatchTime]) -> float:
        return statistics.median(map(self.rate, batches))

    def close(self) -> None:
        self._link.close()


@contextmanager
def _not_blaming_the_kernel() -> Iterator[None]:
    try:
        yield
    except KernelFailure as error:
        raise ReferenceFailed(error.failure) from None
