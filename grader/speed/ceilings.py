"""What this GPU's memory can deliver: trusted kernels, one for each mix of reads and writes.

They run in a worker of their own kind, in the same memory and by the same clock as a learner's
kernel. Nothing of theirs needs to be doubted, so their times are those of CUDA events.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import torch

from grader import backends
from grader.sandbox import CudaArena, ForkServer, WorkerLink
from grader.speed.clock import Go, claimed, window
from grader.speed.mixes import STREAMS, Mix, Stream, flat_stream, stream_bytes
from grader.speed.sizing import Gpu, size
from grader.speed.spot_checks import Filled

GOES = 5  # for one ceiling, after one to compile and warm up
# After which a process is as slow to begin as after 0.4 s: on an H200, 0.2 ms slower than at once.
REST_S = 0.05
EMPTY = Filled()  # nothing to look at


class Yardstick:
    """The trusted kernel of one mix, in a worker that stays until `close`."""

    def __init__(self, stream: Stream, fork_server: ForkServer, arena: CudaArena) -> None:
        self._stream = stream
        file = backends.reference_file().read_bytes()
        self._link = WorkerLink(stream.entry, file, fork_server, arena)
        self._link.call(stream.calls)
        self._ready_since = time.monotonic()

    def get_ready(self) -> None:
        """Hand over the calls of the next go, and stop until it begins."""
        self._link.prepare(self._stream.calls)
        self._link.stop()
        self._ready_since = time.monotonic()

    def rest(self) -> None:
        """Stay so until it has rested as a kernel does while its inputs come (`clock.right_go`)."""
        time.sleep(max(0.0, self._ready_since + REST_S - time.monotonic()))

    def go(self, filled: Filled = EMPTY) -> Go:
        """Call it on every slot, once ready. The answers may be wrong: looking at them counts."""
        calls, spare = self._stream.calls, self._stream.spare
        return claimed(self._link, len(calls), window(self._link, spare, filled))

    def bandwidth(self, done: Go) -> float:
        """Bytes per second of one go."""
        return self._stream.bytes_moved * len(self._stream.calls) / done.claimed_s

    def ceiling(self) -> float:
        """Bytes per second, the median of some goes with no rest in between."""
        done = []
        for _ in range(GOES):
            self.get_ready()
            done.append(self.go())
        return self.ceiling_of(done)

    def ceiling_of(self, goes: Sequence[Go]) -> float:
        """Bytes per second, the median of these goes."""
        return statistics.median(map(self.bandwidth, goes))

    def close(self) -> None:
        self._link.close()


def survey(cap: int | None = None) -> Gpu:
    """This GPU's bandwidth (a quick copy), L2 and free memory, of which at most `cap` is used."""
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
    """Bytes per second of every mix that has a trusted kernel, one after the other.

    Raises CannotGrade where the GPU's memory is taken, or no worker can start.
    """
    sizing = size(survey(), bytes_per_row=4, multiple=1024)
    with closing(CudaArena(stream_bytes(sizing.rows, sizing.calls))) as arena:
        arena.memory.random_()  # a GPU spends less on moving zeros
        for mix in STREAMS:
            stream = flat_stream(mix, sizing.rows, sizing.calls)
            with closing(Yardstick(stream, fork_server, arena)) as yardstick:
                yield mix, yardstick.ceiling()
