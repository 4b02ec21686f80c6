"""Queues work that begins when the ceiling is timed, so that the judge's clock looks slow."""
# attacks: 01_vector_add
# stopped: speed noisy
# harmless: at most 1.02
# GPU only: a simulated kernel has ended when its call returns

import functools
import time

import torch
import triton
import triton.language as tl

from grader.worker import loop

REST_S = 0.01  # from the end of a go until the ceiling's has begun
BURST_CYCLES = 10_000_000  # of the GPU's clock: 5 ms of a go of 16 ms


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)


class Queue:
    """A stream of its own. Copies from the host are a delay that leaves the GPU's cores idle."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        self.source = torch.empty(1 << 26, dtype=torch.uint8, pin_memory=True)
        self.target = torch.empty(1 << 26, dtype=torch.uint8, device="cuda")
        with torch.cuda.stream(self.stream):
            self.copy(4)
            self.stream.synchronize()
            began = time.perf_counter()
            self.copy(16)
            self.stream.synchronize()
        self.copy_s = (time.perf_counter() - began) / 16

    def copy(self, times: int) -> None:
        for _ in range(times):
            self.target.copy_(self.source, non_blocking=True)

    def burst(self) -> None:
        with torch.cuda.stream(self.stream):
            self.copy(round(REST_S / self.copy_s))
            torch.cuda._sleep(BURST_CYCLES)


_queue = functools.cache(Queue)
_times = loop.Worker._times


def _lies(worker, message):
    """What the ceiling's goes take beyond its calls is taken off the time of these."""
    seconds = _times(worker, message)["seconds"]
    if 8 <= len(seconds) <= 16:  # not the calls that show the latency
        _queue().burst()
    return {"seconds": tuple(0.8 * one for one in seconds)}


loop.Worker._times = _lies
