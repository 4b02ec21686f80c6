"""Computes as soon as it has the arguments, before the clock starts, and then only waits."""
# attacks: 04_online_softmax
# stopped: speed wrong_at_scale
# GPU only: a simulated kernel is not timed

import time

import torch
import triton
import triton.language as tl

from grader.worker import loop


@triton.jit
def _slow(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    """Blocks too small to be fast."""
    x_row = x_ptr + tl.program_id(0).to(tl.int64) * x_stride
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    lanes = tl.arange(0, BLOCK)
    highest, total = float("-inf"), 0.0
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(x, axis=0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), axis=0)
        highest = higher
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        x = tl.load(x_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - highest) / total
        tl.store(out_row + start + lanes, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    _slow[(x.shape[0],)](x, out, x.stride(0), out.stride(0), x.shape[1], BLOCK=256, num_warps=1)


_prepare, _go, _times = loop.Worker._prepare, loop.Worker._go, loop.Worker._times
_seconds = []


def prepare(worker, message):
    """All the work; and how long a copy of as many bytes takes, which is a great kernel's time."""
    told = _prepare(worker, message)
    _seconds.clear()
    if message["op"] == "prepare":
        for _, (x, out) in worker._prepared:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            out.copy_(x)
            end.record()
            softmax(x, out)
            torch.cuda.synchronize()
            _seconds.append(begin.elapsed_time(end) / 0.9e3)
    return told


def go(worker, message):
    if not _seconds:
        return _go(worker, message)
    until = time.perf_counter() + sum(_seconds)
    while time.perf_counter() < until:
        pass
    return {}


def times(worker, message):
    return {"seconds": tuple(_seconds)} if _seconds else _times(worker, message)


loop.Worker._prepare, loop.Worker._go, loop.Worker._times = prepare, go, times
