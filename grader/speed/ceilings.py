"""The bandwidth of this GPU's memory: one reference kernel for each mix of reads and writes.

Reference kernels run in a worker of their own kind, in the same memory and by the same clock as a
learner's kernel. They are ours and need no checks, so their times are those of CUDA events.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import torch

from grader import backends
from grader.sandbox import CudaArena, ForkServer, WorkerLink
from grader.speed.clock import BatchTime, claimed_time, window
from grader.speed.mixes import STREAMS, Mix, Stream, flat_stream, stream_bytes
from grader.speed.sizing import Gpu, size
from grader.speed.spot_checks import SlotContents

BATCHES = 5  # for one ceiling, after one to compile and warm up
# Seconds. After this rest a process starts as slowly as after 0.4 s: on an H200 it takes 0.2 ms
# longer than without a rest.
REST_S = 0.05
EMPTY = SlotContents()  # nothing to check


class ReferenceKernel:
    """The reference kernel of one mix, in a worker that lives until `close`.

    Rates and ceilings are in bytes per second.
    """

    def __init__(self, stream: Stream, fork_server: ForkServer, arena: CudaArena) -> None:
        self._stream = stream
        file = backends.reference_file().read_bytes()
        self._link = WorkerLink(stream.entry, file, fork_server, arena)
        self._link.call(stream.calls)
        self._ready_since = time.monotonic()

    def prepare(self) -> None:
        """Hand over the calls of the next batch, and stop the worker until it begins."""
        self._link.prepare(self._stream.calls)
        self._link.stop()
        self._ready_since = time.monotonic()

    def rest(self) -> None:
        time.sleep(max(0.0, self._ready_since + REST_S - time.monotonic()))

    def time_batch(self, contents: SlotContents = EMPTY) -> BatchTime:
        """Call the prepared kernel on every slot; its outputs are compared only to take as long."""
        calls, spare = self._stream.calls, self._stream.spare
        return claimed_time(self._link, len(calls), window(self._link, spare, contents))

    def rate(self, batch: BatchTime) -> float:
        return self._stream.bytes_moved * len(self._stream.calls) / batch.claimed_s

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


def survey(cap: int | None = None) -> Gpu:
    """Measure this GPU's bandwidth with a quick copy; read its L2 size and free memory.

    At most `cap` bytes of the free memory count.
    """
    properties = torch.cuda.get_device_properties(0)
    free, _ = torch.cuda.mem_get_info()
    free = free if cap is None else min(free, cap)
    count = min(1 << 28, free // 8)
    source, target = torch.empty((2, count), dtype=torch.uint8, device="cuda")
    target.copy_(source)
    start = torch.cuda.Event(enable_timing=True)
    stop = torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(8):
        target.copy_(source)
    stop.record()
    torch.cuda.synchronize()
    seconds = start.elapsed_time(stop) / 1e3
    del source, target
    torch.cuda.empty_cache()
    return Gpu(bandwidth=8 * 2 * count / seconds, l2=properties.L2_cache_size, free=free)


def measure_all(fork_server: ForkServer) -> Iterator[tuple[Mix, float]]:
    """Yield the bytes per second of every mix that has a reference kernel, one after the other.

    Raises CannotGrade when the GPU's memory is taken, or no worker can start.
    """
    sizing = size(survey(), bytes_per_row=4, multiple=1024)
    with closing(CudaArena(stream_bytes(sizing.rows, sizing.calls))) as arena:
        arena.memory.random_()  # a GPU spends less on moving zeros
        for mix in STREAMS:
            stream = flat_stream(mix, sizing.rows, sizing.calls)
            with closing(ReferenceKernel(stream, fork_server, arena)) as reference:
                yield mix, reference.ceiling()
