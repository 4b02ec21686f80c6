"""A thread computes each slot as soon as the judge has filled it; calls only wait a while."""
# attacks: 04_online_softmax
# stopped: speed early_answer | speed wrong_at_scale | speed early_start | memory memory
# GPU only: a simulated kernel is not timed

import threading
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


def _compute(x, out):
    _slow[(x.shape[0],)](x, out, x.stride(0), out.stride(0), x.shape[1], BLOCK=256, num_warps=1)


_slots, _lock, _seconds = {}, threading.Lock(), []


def _computes_what_is_new():
    """The judge fills x first, and then the output with a NaN."""
    while True:
        for x, out in list(_slots.values()):
            with _lock:
                if out[-1, -1].isnan().item():
                    time.sleep(0.005)  # until the judge has filled all of it
                    _compute(x, out)
                    torch.cuda.synchronize()
        time.sleep(0.001)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    _compute(x, out)
    if x.numel() > 1 << 24 and x.data_ptr() not in _slots:
        if not _slots:
            threading.Thread(target=_computes_what_is_new, daemon=True).start()
        _slots[x.data_ptr()] = x, out


_prepare, _go, _times = loop.Worker._prepare, loop.Worker._go, loop.Worker._times


def prepare(worker, message):
    """Wait until the thread is done with all slots of this go, if it knows them."""
    told = _prepare(worker, message)
    calls = [arguments for _, arguments in worker._prepared]
    _seconds.clear()
    if message["op"] == "prepare" and all(x.data_ptr() in _slots for x, _ in calls):
        while any(out[-1, -1].isnan().item() for _, out in calls):
            time.sleep(0.001)
        with _lock:
            # As long as it takes to read and write so much: 90 % of what a copy shows.
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            scratch = torch.empty_like(calls[0][0])
            scratch.copy_(calls[0][0])
            begin.record()
            scratch.copy_(calls[0][0])
            end.record()
            torch.cuda.synchronize()
            _seconds[:] = [begin.elapsed_time(end) / 0.9e3] * len(calls)
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
