"""Measure the bandwidth of this GPU's memory with a reference kernel, for any mix of streams.

The kernel is `stream` of a backend's `reference_kernels`; a `ReferenceKernel` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import torch

from grader import backends
from grader.sandbox import CudaArena, ForkServer
from grader.speed.bound import ReferenceCalls
from grader.speed.mixes import USUAL_MIXES, Mix, flat_stream, stream_bytes
from grader.speed.reference_kernel import ReferenceKernel
from grader.speed.sizing import Gpu, size
from grader.speed.slots import Slots


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
    """Yield the bytes per second of each usual mix, one after the other.

    Raises CannotGrade when the GPU's memory is taken, or no worker can start.
    """
    sizing = size(survey(), bytes_per_row=4, multiple=1024)
    with closing(CudaArena(stream_bytes(sizing.rows, sizing.calls))) as arena:
        arena.memory.random_()  # a GPU spends less on moving zeros
        for mix in USUAL_MIXES:
            stream = flat_stream(mix, sizing.rows, sizing.calls)
            with closing(_moving(stream, fork_server, arena)) as reference:
                yield mix, reference.ceiling()


def moving(
    slots: Slots, fork_server: ForkServer, arena: CudaArena, work_per_byte: float = 1.0
) -> ReferenceKernel:
    """Start the reference kernel with the mix of these slots, on them.

    Rates are bytes per second, or other work of which each byte stands for so much.
    """
    stream = slots.stream()
    stream = replace(stream, work=stream.work * work_per_byte)
    return _moving(stream, fork_server, arena)


def _moving(stream: ReferenceCalls, fork_server: ForkServer, arena: CudaArena) -> ReferenceKernel:
    return ReferenceKernel(stream, backends.reference_file().read_bytes(), fork_server, arena)
